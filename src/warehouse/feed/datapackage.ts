/**
 * `datapackage.json`: the tables of a feed with their columns, units and keys, as Frictionless Data Package v2 describes them
 * (https://datapackage.org). The standard has no property for a unit of its own; it allows others, and `unit` is read as one.
 */
import {
  type ColumnKind,
  type ContractColumn,
  type ContractSettings,
  contractTables,
} from '../../core/contract/tables.ts';
import { unknownUnit } from '../../core/daily/units.ts';
import type { FeedManifest } from './manifest.ts';
import { feedContract } from './tables.ts';

export const datapackageName = 'datapackage.json';

const types: Readonly<Record<ColumnKind, string>> = {
  string: 'string',
  double: 'number',
  int32: 'integer',
  int64: 'integer',
  boolean: 'boolean',
  instant: 'datetime',
  day: 'date',
};

/** Of the files that this version names. Tables without a file are left out: a resource needs a path. */
export function datapackageBytes(manifest: FeedManifest, contract: ContractSettings): Buffer {
  const tables = feedContract(contractTables(contract));
  const names = [...new Set(manifest.files.map(({ table }) => table))];
  const resources = names.map((table) => {
    const files = manifest.files.filter((file) => file.table === table);
    const { columns = [], key = [], description = '' } = tables.get(table) ?? {};
    return {
      name: table.replaceAll('_', '-'),
      title: table,
      description,
      path: files.map(({ path }) => path),
      format: manifest.format,
      mediatype: manifest.format === 'csv' ? 'text/csv' : 'application/vnd.apache.parquet',
      encoding: 'utf-8',
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      schema: { fields: columns.map(fieldOf), primaryKey: key, missingValues: [''] },
    };
  });
  const described = {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'wellsync-feed',
    id: manifest.feedId,
    version: String(manifest.version),
    created: manifest.publishedAt,
    resources,
  };
  return Buffer.from(`${JSON.stringify(described, undefined, 2)}\n`);
}

/** A unit that nobody knows is left out. */
function fieldOf({ name, kind, format, description, unit, isRequired }: ContractColumn): object {
  return {
    name,
    type: types[kind],
    ...(format === 'uuid' ? { format } : {}),
    description,
    ...(unit === undefined || unit === unknownUnit ? {} : { unit }),
    ...(isRequired ? { constraints: { required: true } } : {}),
  };
}
