/**
 * Fast path for lines that are one row each with plain quotes, which nearly every line of nearly every file is, at a
 * fraction of a parser's cost (docs/decisions/0008-how-chunks-travel.md). All other lines go to the parser, so quotes
 * have one meaning: a test holds both to the same rows.
 */

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;

/** Whether the delimiter is one ASCII character other than a quote or a line end. */
export function hasPlainDelimiter(delimiter: string): boolean {
  const code = delimiter.charCodeAt(0);
  return delimiter.length === 1 && code < 0x80 && code !== quote && code !== newline && code !== carriageReturn;
}

/**
 * Passes `take` the cells of each complete line from `from` on, and the offset behind its line end; an empty line has
 * no cells. Stops before the first line that needs a parser and before an incomplete line. Returns the offset at which
 * it stopped.
 */
export function takeRegularLines(
  bytes: Buffer,
  from: number,
  delimiter: string,
  take: (cells: readonly string[], end: number) => void,
): number {
  let at = from;
  for (let lineEnd = bytes.indexOf(newline, at); lineEnd !== -1; lineEnd = bytes.indexOf(newline, at)) {
    const isCrLf = lineEnd > at && bytes[lineEnd - 1] === carriageReturn;
    const cells = regularCells(bytes.toString('utf8', at, isCrLf ? lineEnd - 1 : lineEnd), delimiter);
    if (cells === undefined) return at;
    at = lineEnd + 1;
    take(cells, at);
  }
  return at;
}

const none: readonly string[] = [];

/**
 * Cells of a line without its line end; undefined when a quote stands inside a cell, or a cell continues on the next
 * line.
 */
function regularCells(line: string, delimiter: string): readonly string[] | undefined {
  if (line === '') return none;
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    const isQuoted = line.charCodeAt(at) === quote;
    const start = isQuoted ? at + 1 : at;
    const found = line.indexOf(isQuoted ? '"' : delimiter, start);
    if (isQuoted && found === -1) return undefined;
    const end = found === -1 ? line.length : found;
    const cell = line.slice(start, end);
    if (!isQuoted && cell.includes('"')) return undefined;
    cells.push(cell);
    const next = isQuoted ? end + 1 : end;
    if (next === line.length) return cells;
    if (line[next] !== delimiter) return undefined;
    at = next + 1;
  }
}
