/**
 * Finds the elements of a JSON array, and the members of a JSON object, in their text. The text has been parsed before,
 * so it is valid JSON. One pass without recursion, whatever the depth.
 */

/** A part of a text, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The elements of the array in `text`, without the white space around them. */
export function elementSpans(text: string): readonly Span[] {
  return [...childSpans(text, 0)].map((span) => trimmed(text, span));
}

/** The members of an object: name to the span of its value. The last one of a name counts, as JSON.parse has it. */
export function memberSpans(text: string, object: Span): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  for (const child of childSpans(text, object.start)) {
    const { start, end } = trimmed(text, child);
    const nameEnd = stringEnd(text, start);
    const name = JSON.parse(text.slice(start, nameEnd)) as string;
    members.set(name, trimmed(text, { start: text.indexOf(':', nameEnd) + 1, end }));
  }
  return members;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** The parts between the commas of the array or object that begins at or after `from`. */
function* childSpans(text: string, from: number): Generator<Span> {
  let depth = 0;
  let start = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at) - 1;
    else if (opening.has(code)) {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (closing.has(code)) {
      depth -= 1;
      if (depth > 0) continue;
      const last = { start, end: at };
      if (!isBlank(text, last)) yield last;
      return;
    } else if (code === comma && depth === 1) {
      yield { start, end: at };
      start = at + 1;
    }
  }
}

/** The end of the JSON string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

/** Whether an odd number of backslashes stands before. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

function trimmed(text: string, { start, end }: Span): Span {
  let [first, last] = [start, end];
  while (first < last && isSpace(text, first)) first += 1;
  while (last > first && isSpace(text, last - 1)) last -= 1;
  return { start: first, end: last };
}

function isBlank(text: string, span: Span): boolean {
  const { start, end } = trimmed(text, span);
  return start === end;
}

/** White space of JSON: space, tab, line feed, carriage return. */
function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}
