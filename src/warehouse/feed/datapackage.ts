/** `datapackage.json`: the tables of a feed with their columns, as Frictionless describes them (https://datapackage.org). */
import type { FeedManifest } from './manifest.ts';
import { type FeedKind, feedTables } from './tables.ts';

export const datapackageName = 'datapackage.json';

const types: Readonly<Record<FeedKind, string>> = {
  string: 'string',
  double: 'number',
  int32: 'integer',
  int64: 'integer',
  boolean: 'boolean',
  instant: 'datetime',
  day: 'date',
};

/** Of the files that this version names. Tables without a file are left out: a resource needs a path. */
export function datapackageBytes(manifest: FeedManifest): Buffer {
  const names = [...new Set(manifest.files.map(({ table }) => table))];
  const resources = names.map((table) => {
    const files = manifest.files.filter((file) => file.table === table);
    const { columns, order } = feedTables[table];
    return {
      name: table.replaceAll('_', '-'),
      title: table,
      path: files.map(({ path }) => path),
      format: manifest.format,
      mediatype: manifest.format === 'csv' ? 'text/csv' : 'application/vnd.apache.parquet',
      encoding: 'utf-8',
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      schema: {
        fields: columns.map(({ name, kind }) => ({ name, type: types[kind] })),
        primaryKey: order,
        missingValues: [''],
      },
    };
  });
  const described = {
    name: 'wellsync-feed',
    id: manifest.feedId,
    version: String(manifest.version),
    created: manifest.publishedAt,
    resources,
  };
  return Buffer.from(`${JSON.stringify(described, undefined, 2)}\n`);
}
