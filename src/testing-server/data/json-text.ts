/**
 * Slices JSON text without parsing its values, so that a number keeps its text (38.211669000000001). Every function
 * takes text that JSON.parse has accepted.
 */
import { parseTree, type Node } from 'jsonc-parser';

export interface JsonMember {
  readonly name: string;
  /** Text of the value. */
  readonly raw: string;
}

/** Texts of the elements of a JSON array. */
export function arrayItems(text: string): string[] {
  return childrenOf(parseTree(text)).map((item) => slice(text, item));
}

/** Members of a JSON object, in order. */
export function objectMembers(text: string): JsonMember[] {
  return childrenOf(parseTree(text)).map((member) => {
    const [name, value] = childrenOf(member);
    return { name: String(name?.value), raw: slice(text, value) };
  });
}

function childrenOf(node: Node | undefined): readonly Node[] {
  return node?.children ?? [];
}

function slice(text: string, node: Node | undefined): string {
  return node === undefined ? '' : text.slice(node.offset, node.offset + node.length);
}
