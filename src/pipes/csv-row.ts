/** Owns what a row of a CSV file is: its cells, and where it lies in the file. */

/** Where a row lies. Lines count from 1, bytes from the start of the content; the end includes the line end. */
export interface RowPlace {
  readonly line: number;
  readonly lastLine: number;
  readonly byte: number;
  readonly endByte: number;
  /** Bytes of the file in which the row lies, and where in them: text is made of it only for the few that need it. */
  readonly window: Buffer;
  readonly offset: number;
}

/** One row with its place. */
export interface CsvRow extends RowPlace {
  readonly cells: readonly string[];
  /** Why the row could not be parsed; it has no cells then. */
  readonly fault: string | undefined;
}

/** The place alone: what is kept of many rows at one time should be little. */
export function placeOf({ line, lastLine, byte, endByte, window, offset }: CsvRow): RowPlace {
  return { line, lastLine, byte, endByte, window, offset };
}

/** The row as it stands in the file, without its line end. */
export function rawText({ window, offset, byte, endByte }: RowPlace): string {
  return window.toString('utf8', offset, offset + endByte - byte).replace(/\r?\n$/, '');
}
