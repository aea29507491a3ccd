/**
 * Owns slicing JSON text without reading its values, so that a number stays as its sender wrote it (38.211669000000001).
 * Every function takes text that JSON.parse has accepted.
 */
import { parseTree, type Node } from 'jsonc-parser';

export interface JsonMember {
  readonly name: string;
  /** The value as it stands in the text. */
  readonly raw: string;
}

/** The elements of a JSON array, each as it stands in the text. */
export function arrayItems(text: string): string[] {
  return childrenOf(parseTree(text)).map((item) => slice(text, item));
}

/** The members of a JSON object in their order. */
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
