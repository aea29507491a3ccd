/** Position of a row. Lines count from 1, bytes from the start of the content; `endByte` includes the line end. */
export interface RowPlace {
  readonly line: number;
  readonly lastLine: number;
  readonly byte: number;
  readonly endByte: number;
  /** Bytes of the file around the row, and the row's offset in them. Only the few rows that need text decode it. */
  readonly window: Buffer;
  readonly offset: number;
}

/** One row with its place. */
export interface CsvRow extends RowPlace {
  readonly cells: readonly string[];
  /** Reason why the row cannot be parsed; it has no cells then. */
  readonly fault: string | undefined;
}

/** The position alone, to save memory when many rows are held. */
export function placeOf({ line, lastLine, byte, endByte, window, offset }: CsvRow): RowPlace {
  return { line, lastLine, byte, endByte, window, offset };
}

/** The text of the row in the file, without its line end. */
export function rawText({ window, offset, byte, endByte }: RowPlace): string {
  return window.toString('utf8', offset, offset + endByte - byte).replace(/\r?\n$/, '');
}
