import type { Units } from '../../core/daily/units.ts';

/** A table of JSON values: timestamps and days as ISO text, big integers as numbers if they are safe, else as text. */
export interface QueryResult {
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: string }>;
  readonly rows: AsyncIterable<readonly unknown[]>;
}

/**
 * A file for the rows of a query. CSV has a header, an empty cell for null and `""` for the empty text; NDJSON has an
 * object a line; Parquet is compressed with zstd.
 */
export interface CopyTarget {
  /** Absolute; a file there is overwritten. */
  readonly path: string;
  readonly format: 'csv' | 'ndjson' | 'parquet';
  /** Compressed with gzip; without effect on Parquet. */
  readonly isGzip: boolean;
  /** By name of a column. In the metadata of Parquet, under `units`; nothing says them in NDJSON. */
  readonly units?: Units;
  /** Whether the header of CSV has them as well: `oil_rate [bbl/d]`. */
  readonly hasUnitHeads?: boolean;
}
