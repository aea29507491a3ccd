/**
 * The values of the engine's library, loaded as the CommonJS module that it is: an import would look for the names of
 * its exports in every one of its files, again for each re-export, which takes a quarter of a second of every command.
 */
import { createRequire } from 'node:module';
import type * as library from '@duckdb/node-api';

const engine = createRequire(import.meta.url)('@duckdb/node-api') as typeof library;

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
