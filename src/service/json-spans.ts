/**
 * Finds the elements of a JSON array, and the members of a JSON object, in their text. One pass without recursion,
 * whatever the depth, and with an end for any text: one that is no JSON is found broken, or gives parts that
 * JSON.parse refuses.
 */
import { mostLevels, parsedJson } from '../core/base/text.ts';

/** Deeper levels are never parsed. */
export const countedLevels = mostLevels + 2;

/** A part of a text, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** An element of an array, with what its parsed value would take. */
export interface ElementSpan extends Span {
  /** Levels of arrays and objects, its own included; 0 for a text or a number. */
  readonly levels: number;
  /** Commas, arrays and objects in it, in its first `countedLevels` levels: about as many as its values there. */
  readonly parts: number;
}

/** `broken`: the text is not one array in JSON. `too-many`: the array has more elements than asked for. */
export type ArrayFault = 'broken' | 'too-many';

/** The elements of the array that is the whole text, without the white space around them. */
export function elementSpans(text: string, mostElements = Infinity): readonly ElementSpan[] | ArrayFault {
  const spans: ElementSpan[] = [];
  const first = skipSpace(text, 0);
  if (text.charCodeAt(first) !== openBracket) return 'broken';
  let isMany = false;
  const end = scanChildren(text, first, (child) => {
    isMany = spans.length >= mostElements;
    if (!isMany) spans.push({ ...child, ...trimmed(text, child) });
    return !isMany;
  });
  if (isMany) return 'too-many';
  if (end === undefined || text.charCodeAt(end) !== closeBracket) return 'broken';
  return skipSpace(text, end + 1) === text.length ? spans : 'broken';
}

/** The members of an object: name to the span of its value. The last one of a name counts, as JSON.parse has it. */
export function memberSpans(text: string, object: Span): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  scanChildren(text, object.start, (child) => {
    const { start, end } = trimmed(text, child);
    const nameEnd = stringEnd(text, start);
    const name = parsedJson(text.slice(start, Math.min(nameEnd, end)));
    const value = valueAfter(text, nameEnd, end);
    if (typeof name === 'string' && value !== undefined) members.set(name, value);
    return true;
  });
  return members;
}

/** The value of one member, by its name as JSON writes it; undefined where there is none. Takes no memory by member. */
export function memberSpan(text: string, object: Span, name: string): Span | undefined {
  const quoted = JSON.stringify(name);
  let found: Span | undefined;
  scanChildren(text, object.start, ({ start, end }) => {
    const first = skipSpace(text, start);
    if (text.startsWith(quoted, first)) found = valueAfter(text, first + quoted.length, end) ?? found;
    return true;
  });
  return found;
}

/** Undefined where no colon follows the name that ends at `nameEnd`. */
function valueAfter(text: string, nameEnd: number, end: number): Span | undefined {
  const at = skipSpace(text, nameEnd);
  return text.charCodeAt(at) === colon ? trimmed(text, { start: at + 1, end }) : undefined;
}

/** The text of a span, with every array and object of level `levels` emptied: what is nested deeper is left out. */
export function textWithin(text: string, { start, end }: Span, levels: number): string {
  const kept: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at) - 1;
    else if (isOpening(code)) {
      depth += 1;
      if (depth === levels) kept.push(text.slice(from, at + 1));
    } else if (isClosing(code)) {
      if (depth === levels) from = at;
      depth -= 1;
    }
  }
  return `${kept.join('')}${text.slice(from, end)}`;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** `[` and `{` */
function isOpening(code: number): boolean {
  return code === openBracket || code === 0x7b;
}

/** `]` and `}` */
function isClosing(code: number): boolean {
  return code === closeBracket || code === 0x7d;
}

/**
 * Calls `visit` with each part between the commas of the array or object that begins at `open`, until it returns false.
 * Returns the position of the closing bracket; undefined where the text ends before.
 */
function scanChildren(text: string, open: number, visit: (child: ElementSpan) => boolean): number | undefined {
  let depth = 0;
  let start = open + 1;
  let levels = 0;
  let parts = 0;
  let isFirst = true;
  for (let at = open; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at) - 1;
    else if (isOpening(code)) {
      depth += 1;
      if (depth > 1 && depth <= countedLevels) parts += 1;
      if (depth - 1 > levels) levels = depth - 1;
    } else if (code === comma) {
      if (depth <= countedLevels) parts += 1;
      if (depth > 1) continue;
      if (!visit({ start, end: at, levels, parts })) return undefined;
      [start, levels, parts, isFirst] = [at + 1, 0, 0, false];
    } else if (isClosing(code)) {
      depth -= 1;
      if (depth > 0) continue;
      const isEmpty = isFirst && skipSpace(text, start) === at;
      return isEmpty || visit({ start, end: at, levels, parts }) ? at : undefined;
    }
  }
  return undefined;
}

/** The end of the JSON string that begins at `start`; of a text without an end, the end of the text. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) break;
    if (code === backslash) at += 1;
  }
  return at + 1;
}

function trimmed(text: string, { start, end }: Span): Span {
  const first = Math.min(end, skipSpace(text, start));
  let last = end;
  while (last > first && isSpace(text, last - 1)) last -= 1;
  return { start: first, end: last };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text, at)) at += 1;
  return at;
}

/** White space of JSON: space, tab, line feed, carriage return. */
function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}
