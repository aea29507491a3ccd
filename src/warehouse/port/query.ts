/** A table of JSON values: timestamps and days as ISO text, big integers as numbers if they are safe, else as text. */
export interface QueryResult {
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: string }>;
  readonly rows: AsyncIterable<readonly unknown[]>;
}
