/** Owns a page of records as it came: their values, and their own text for what no value can keep (1e999, 12345678901234567890). */
import { parseTree, type Node } from 'jsonc-parser';
import type { RecordText } from '../core/record-check.ts';

export interface RecordPage {
  readonly records: readonly unknown[];
  /** The text of a record, by its place on the page. */
  textOf(index: number): RecordText;
}

/** `body` is JSON whose value is the array `records`; it is looked at again only when a text is asked for. */
export function recordPage(body: string, records: readonly unknown[]): RecordPage {
  let nodes: readonly Node[] | undefined;
  const nodeOf = (index: number): Node | undefined => {
    nodes ??= parseTree(body)?.children ?? [];
    return nodes[index];
  };
  return {
    records,
    textOf: (index) => ({
      whole: () => textAt(body, nodeOf(index)),
      member: (name) => textAt(body, memberOf(nodeOf(index), name)),
    }),
  };
}

/** The last of that name, as JSON.parse has it. */
function memberOf(record: Node | undefined, name: string): Node | undefined {
  return record?.children?.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1];
}

function textAt(body: string, node: Node | undefined): string {
  return node === undefined ? 'null' : body.slice(node.offset, node.offset + node.length);
}
