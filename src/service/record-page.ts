/**
 * A page of records: parsed values, and the original text of values that JavaScript cannot hold (1e999,
 * 12345678901234567890).
 */
import type { RecordText } from '../core/daily/record-check.ts';
import { elementSpans, memberSpans, type Span } from './json-spans.ts';

export interface RecordPage {
  readonly records: readonly unknown[];
  /** Text of a record, by its index on the page. */
  textOf(index: number): RecordText;
}

/** `body`: JSON text of the array `records`; searched again only when a text is requested. */
export function recordPage(body: string, records: readonly unknown[]): RecordPage {
  let elements: readonly Span[] | undefined;
  const spanOf = (index: number): Span | undefined => {
    elements ??= elementSpans(body);
    return elements[index];
  };
  return { records, textOf: (index) => recordText(body, () => spanOf(index)) };
}

function recordText(body: string, record: () => Span | undefined): RecordText {
  let members: ReadonlyMap<string, Span> | undefined;
  return {
    whole: () => textAt(body, record()),
    member: (name) => {
      const span = record();
      members ??= span === undefined ? new Map() : memberSpans(body, span);
      return textAt(body, members.get(name));
    },
  };
}

function textAt(body: string, span: Span | undefined): string {
  return span === undefined ? 'null' : escaped(body.slice(span.start, span.end));
}

/** Lone surrogates as JSON escapes, since no file and no database can hold them. */
function escaped(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replaceAll(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}
