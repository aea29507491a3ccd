/**
 * A page of records: parsed values, and the original text of values that JavaScript cannot hold (1e999,
 * 12345678901234567890). Time and memory grow with the bytes of the page, whatever is in them (G8): a page is parsed at
 * once only where its values are few, else record by record, and a record beyond all measure is not parsed at all.
 *
 *   up to 1 Mi characters, few brackets      JSON.parse of the whole
 *   up to 300,000 values, no large record    the same, after one pass over the text
 *   else                                     each record by itself, whenever it is asked for
 */
import { createHash } from 'node:crypto';
import { counted, mostLevels, parsedJson } from '../core/base/text.ts';
import { type RecordText, UnreadRecord } from '../core/daily/record-check.ts';

export interface RecordPage {
  /** Number of records. */
  readonly length: number;
  /** The parsed records in their order; each iteration of a large page parses them anew. */
  readonly records: Iterable<unknown>;
  /** Text of a record, by its index on the page. */
  textOf(index: number): RecordText;
}

/** How many records a page may have. */
export interface PageBounds {
  /** Records that were asked for; undefined for none. */
  readonly limit?: number | undefined;
  /** Most records, whatever was asked for. */
  readonly mostRecords?: number | undefined;
}

/** `broken`: no JSON. `no-array`: JSON of another kind. `too-many`: more records than a page may have. */
export type PageFault = 'broken' | 'no-array' | 'too-many';

/** A text of so many characters takes at most some 30 MB when it is parsed, if its brackets are few. */
const mostQuickChars = 1024 * 1024;
/** Brackets in a text that is parsed at once: one a record of 64 characters, and some more. */
const charsPerBracket = 64;
const bracketsBeside = 1_024;
/** A value takes at most some 120 bytes when it is parsed. */
const mostParts = 300_000;

/** A record with more than this is quarantined unread: some hundred times what a record has. */
const mostRecordChars = 1024 * 1024;
const mostRecordParts = 50_000;

/** A record needs more characters: its xid and its date alone have 76. */
const leastRecordChars = 64;
/** So many records of any length cost little. */
const usualRecords = 1_000;

/**
 * Records that a page of so many characters may have: `limit`, 1,000, or as many as have the length of one, but never more
 * than `mostRecords`.
 */
export function mostRecordsIn(chars: number, { limit = 0, mostRecords = Infinity }: PageBounds): number {
  return Math.min(mostRecords, Math.max(limit, usualRecords, chars / leastRecordChars));
}

/** `body`: JSON text of an array. */
export function recordPage(body: string, bounds: PageBounds = {}): RecordPage | PageFault {
  const most = mostRecordsIn(body.length, bounds);
  return isQuick(body) ? wholePage(body, most) : largePage(body, most);
}

function isQuick(body: string): boolean {
  if (body.length > mostQuickChars) return false;
  const most = bracketsBeside + body.length / charsPerBracket;
  return hasAtMost(body, '{', most) && hasAtMost(body, '[', most);
}

/** Looks for one character at a time, which is native: some 50 ns for each that is found. */
function hasAtMost(text: string, character: string, most: number): boolean {
  let at = text.indexOf(character);
  for (let count = 0; at >= 0; count += 1) {
    if (count >= most) return false;
    at = text.indexOf(character, at + 1);
  }
  return true;
}

function wholePage(body: string, mostRecords: number): RecordPage | PageFault {
  const records = parsedJson(body);
  if (records === undefined) return 'broken';
  if (!Array.isArray(records)) return 'no-array';
  if (records.length > mostRecords) return 'too-many';
  let elements: readonly Span[] | undefined;
  return {
    length: records.length,
    records,
    textOf: (index) =>
      recordText(body, () => {
        elements ??= spansOf(body);
        return elements[index];
      }),
  };
}

function spansOf(body: string): readonly Span[] {
  const spans = elementSpans(body);
  return typeof spans === 'string' ? [] : spans;
}

function largePage(body: string, mostRecords: number): RecordPage | PageFault {
  if (/^\s*[{"]/.test(body)) return 'no-array';
  const elements = elementSpans(body, mostRecords);
  if (typeof elements === 'string') return elements;
  const { length } = elements;
  const textOf = (index: number): RecordText => recordText(body, () => elements[index]);
  if (elements.every(isPlain) && elements.reduce((sum, { parts }) => sum + parts, 0) <= mostParts) {
    const records = parsedJson(body);
    return records === undefined ? 'broken' : { length, records: records as readonly unknown[], textOf };
  }
  // Once before the first record is given out: a broken page has no records.
  if (elements.some((element) => !isVast(element) && recordAt(body, element) === undefined)) return 'broken';
  return { length, records: recordsAt(body, elements), textOf };
}

function recordsAt(body: string, elements: readonly ElementSpan[]): Iterable<unknown> {
  return {
    *[Symbol.iterator]() {
      for (const element of elements) yield recordAt(body, element);
    },
  };
}

function isPlain(element: ElementSpan): boolean {
  return element.levels <= mostLevels && !isVast(element);
}

function isVast({ start, end, parts }: ElementSpan): boolean {
  return end - start > mostRecordChars || parts > mostRecordParts;
}

/** Undefined for a text that is no JSON. */
function recordAt(body: string, element: ElementSpan): unknown {
  if (isVast(element)) return unreadRecord(body, element);
  // Deeper levels than the check of records takes decide nothing: it quarantines the record either way.
  const isDeep = element.levels > mostLevels;
  return parsedJson(isDeep ? textWithin(body, element, countedLevels) : body.slice(element.start, element.end));
}

function unreadRecord(body: string, element: ElementSpan): UnreadRecord {
  const { start, end, parts } = element;
  const short = (name: string): unknown => {
    const span = body.startsWith('{', start) ? memberSpan(body, element, name) : undefined;
    return span === undefined || span.end - span.start > mostIdentityChars
      ? undefined
      : parsedJson(body.slice(span.start, span.end));
  };
  const size = `${counted(end - start, 'character')} and about ${counted(parts, 'value')}`;
  return new UnreadRecord(`the record has ${size}, more than is parsed`, short('xid'), short('date'));
}

/** Longer than any uuid and any date-time. */
const mostIdentityChars = 100;

function recordText(body: string, record: () => Span | undefined): RecordText {
  let members: ReadonlyMap<string, Span> | undefined;
  return {
    whole: (mostChars) => textAt(body, record(), mostChars),
    digest: () => digestOf(body, record()),
    member: (name) => {
      const span = record();
      members ??= span === undefined ? new Map() : memberSpans(body, span);
      return textAt(body, members.get(name));
    },
  };
}

function textAt(body: string, span: Span | undefined, mostChars = Infinity): string {
  if (span === undefined) return 'null';
  return ownText(escaped(body.slice(span.start, Math.min(span.end, span.start + mostChars))));
}

/** By parts, so that no copy of a long text is made; in UTF-16, since UTF-8 has one form for all lone surrogates. */
function digestOf(body: string, { start, end }: Span = { start: 0, end: 0 }): string {
  const hash = createHash('sha256');
  for (let at = start; at < end; at += digestedChars)
    hash.update(body.slice(at, Math.min(end, at + digestedChars)), 'utf16le');
  return hash.digest('hex');
}

const digestedChars = 64 * 1024;

/** A copy: what V8 cuts out of a string retains the whole string, here the page. */
function ownText(part: string): string {
  return Buffer.from(part).toString();
}

/** Lone surrogates as JSON escapes, since no file and no database can hold them. */
function escaped(text: string): string {
  if (text.isWellFormed()) return text;
  return text.replaceAll(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

// Finds the elements of a JSON array, and the members of a JSON object, in their text. One pass without recursion,
// whatever the depth, and with an end for any text: one that is no JSON is found broken, or gives parts that
// JSON.parse refuses.

/** Deeper levels are never parsed. */
const countedLevels = mostLevels + 2;

/** A part of a text, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** An element of an array, with what its parsed value would take. */
interface ElementSpan extends Span {
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
function memberSpan(text: string, object: Span, name: string): Span | undefined {
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
