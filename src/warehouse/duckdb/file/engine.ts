/**
 * The values of the engine's library, loaded as the CommonJS module that it is: an import would look for the names of
 * its exports in every one of its files, again for each re-export, which takes a quarter of a second of every command.
 */
import { createRequire } from 'node:module';
import type * as library from '@duckdb/node-api';
import type * as libraryBindings from '@duckdb/node-bindings';

const engine = createRequire(import.meta.url)('@duckdb/node-api') as typeof library;

/** The engine's C interface, below the library. */
export const bindings = createRequire(import.meta.url)('@duckdb/node-bindings') as typeof libraryBindings;

export const {
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JsonDuckDBValueConverter,
  StatementType,
  version,
} = engine;
