/**
 * A data chunk that is filled by copies of slices of columns. The vectors of the library take one value at a time, and
 * compute a big integer for each null.
 */
import type { DuckDBAppender, DuckDBDataChunk as DataChunk, DuckDBType } from '@duckdb/node-api';
import { bindings, DuckDBDataChunk } from './engine.ts';

/** Capacity of a data chunk. */
export const rowsPerChunk = 2_048;

type Vector = ReturnType<typeof bindings.data_chunk_get_vector>;
type TypedArray = Float64Array | Int32Array | Uint32Array | Uint8Array;

const bitsPerSlot = 32;
const allValid = 0xffff_ffff;
/** The engine's form of a text: its length in 4 bytes, then its bytes where they are no more than 12. */
export const textBytes = 16;
const lengthBytes = 4;
const longestInlineText = textBytes - lengthBytes;

/** One column of a chunk. Its rows are filled from the first on; rows that nothing was written to are valid. */
export class ChunkColumn {
  readonly #vector: Vector;
  /** One bit a row, 1 for a value; low bits first, as the engine has it. */
  readonly #validity = new Uint32Array(rowsPerChunk / bitsPerSlot).fill(allValid);
  #hasNulls = false;

  constructor(vector: Vector) {
    this.#vector = vector;
  }

  /** Copies `count` values from `from` on to the rows from `row` on. The values have the engine's form of the type. */
  copy(values: TypedArray, from: number, count: number, row: number, elementsPerRow = 1): void {
    const rowBytes = values.BYTES_PER_ELEMENT * elementsPerRow;
    // No column is shared between threads.
    const buffer = values.buffer as ArrayBuffer;
    const begin = values.byteOffset + from * rowBytes;
    bindings.copy_data_to_vector(this.#vector, row * rowBytes, buffer, begin, count * rowBytes);
  }

  /** `nulls`: one byte a row, 1 for null. */
  copyNulls(nulls: Uint8Array, from: number, count: number, row: number): void {
    for (let index = 0; index < count; index += 1) if (nulls[from + index] === 1) this.setNull(row + index);
  }

  setNull(row: number): void {
    const slot = Math.floor(row / bitsPerSlot);
    this.#validity[slot] = (this.#validity[slot] ?? allValid) & ~(1 << (row % bitsPerSlot));
    this.#hasNulls = true;
  }

  setText(row: number, text: string): void {
    bindings.vector_assign_string_element(this.#vector, row, text);
  }

  /** Writes one text to `count` rows from `row` on. The rows of a long one share its bytes. */
  repeatText(text: string, count: number, row: number): void {
    this.setText(row, text);
    const written = bindings.vector_get_data(this.#vector, (row + 1) * textBytes).subarray(row * textBytes);
    const repeated = new Uint8Array(count * textBytes);
    repeated.set(written.subarray(0, textBytes));
    // What is filled is doubled.
    for (let filled = textBytes; filled < repeated.length; filled *= 2) repeated.copyWithin(filled, 0, filled);
    this.copy(repeated, 0, count, row, textBytes);
  }

  /** Hands the nulls to the vector. To be called once the chunk is full. */
  flush(): void {
    if (!this.#hasNulls) return;
    bindings.vector_ensure_validity_writable(this.#vector);
    const { buffer, byteLength } = this.#validity;
    bindings.copy_data_to_vector_validity(this.#vector, 0, buffer, 0, byteLength);
    this.#validity.fill(allValid);
    this.#hasNulls = false;
  }
}

/** Texts on their way into a column: short ones are written in the engine's form and copied together. */
export class TextSlice {
  readonly #bytes = new Uint8Array(rowsPerChunk * textBytes);

  /** Copies `count` texts from `from` on to the rows of `column` from `row` on. */
  copy(column: ChunkColumn, texts: ReadonlyArray<string | null>, from: number, count: number, row: number): void {
    const longRows: number[] = [];
    this.#bytes.fill(0, 0, count * textBytes);
    for (let index = 0; index < count; index += 1) {
      const text = texts[from + index] ?? null;
      if (text === null) column.setNull(row + index);
      else if (!this.#writeInline(index, text)) longRows.push(index);
    }
    column.copy(this.#bytes, 0, count, row, textBytes);
    for (const index of longRows) column.setText(row + index, texts[from + index] ?? '');
  }

  /** False for a text that is not ASCII, or is too long. */
  #writeInline(index: number, text: string): boolean {
    if (text.length > longestInlineText) return false;
    const begin = index * textBytes;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) {
        this.#bytes.fill(0, begin, begin + textBytes);
        return false;
      }
      this.#bytes[begin + lengthBytes + at] = code;
    }
    this.#bytes[begin] = text.length;
    return true;
  }
}

/** A chunk of the given types, reused for all rows: its memory is freed when it is collected, which may be late. */
export class ColumnChunk {
  readonly #chunk: DataChunk;
  readonly columns: readonly ChunkColumn[];

  constructor(types: readonly DuckDBType[]) {
    this.#chunk = DuckDBDataChunk.create(types);
    this.columns = types.map((_, index) => new ChunkColumn(bindings.data_chunk_get_vector(this.#chunk.chunk, index)));
  }

  /** Appends the first `rows` rows, and empties the chunk. */
  appendTo(appender: DuckDBAppender, rows: number): void {
    for (const column of this.columns) column.flush();
    this.#chunk.rowCount = rows;
    appender.appendDataChunk(this.#chunk);
    this.#chunk.reset();
  }
}
