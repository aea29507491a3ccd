/**
 * Owns slicing JSON text without reading its values, so that a number stays as its sender wrote it (38.211669000000001).
 * Every function takes text that JSON.parse has accepted.
 */

export interface JsonMember {
  readonly name: string;
  /** The value as it stands in the text. */
  readonly raw: string;
}

/** The elements of a JSON array, each as it stands in the text. */
export function arrayItems(text: string): string[] {
  const items: string[] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] !== ']') {
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    at = nextItem(text, end);
  }
  return items;
}

/** The members of a JSON object in their order. */
export function objectMembers(text: string): JsonMember[] {
  const members: JsonMember[] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text[at] !== '}') {
    const nameEnd = endOfString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ name: JSON.parse(text.slice(at, nameEnd)) as string, raw: text.slice(valueStart, valueEnd) });
    at = nextItem(text, valueEnd);
  }
  return members;
}

/** Past the comma after a value, or at the bracket that closes its list. */
function nextItem(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text[at] === ',' ? skipSpace(text, at + 1) : at;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

function endOfValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return endOfString(text, from);
  return first === '{' || first === '[' ? endOfNested(text, from) : endOfScalar(text, from);
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfNested(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const char = text[at];
    if (char === '{' || char === '[') depth += 1;
    if (char === '}' || char === ']') depth -= 1;
    at = char === '"' ? endOfString(text, at) : at + 1;
  } while (depth > 0);
  return at;
}

function endOfScalar(text: string, from: number): number {
  let at = from;
  while (at < text.length && !',]}'.includes(text.charAt(at)) && text.charCodeAt(at) > 0x20) at += 1;
  return at;
}
