/** The contract of the warehouse: what the configuration says of its tables, and where they lie. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../../../config/schema.ts';
import { yamlOf } from '../../../config/yaml-tree.ts';
import { type ContractServer, odcsDocument } from '../../core/contract/odcs.ts';
import type { ContractSettings } from '../../core/contract/tables.ts';
import { databaseFileOf } from '../../warehouse/create-warehouse.ts';
import { parsePostgresAddress } from '../../warehouse/postgres/server/connections.ts';
import type { App } from '../app.ts';
import { versionOfPackage } from '../version.ts';
import { type FileNames, writeWhole } from './query-file.ts';

export function contractSettings(config: Pick<Config, 'units' | 'export' | 'freshness'>): ContractSettings {
  const { units, export: exports, freshness } = config;
  return { units, nullable: exports.nullable, warnAfterDays: freshness.warnAfterDays };
}

/**
 * Writes a text to a file that holds it whole or is not there. Throws UsageError for a missing folder, for the file of the
 * warehouse, and for a file that exists unless `isOverwritten`.
 */
export async function writeContract(
  { warehouse }: Pick<App, 'warehouse'>,
  content: string,
  { file, isOverwritten }: { readonly file: string; readonly isOverwritten: boolean },
  names: FileNames,
): Promise<string> {
  const target = path.resolve(file);
  await writeWhole(target, { warehouse, isOverwritten, names }, (aside) => writeFile(aside, content));
  return target;
}

/** As YAML of the Open Data Contract Standard 3.1.0. Holds no secret. */
export async function contractText({ config, warehouse, ledger }: App): Promise<string> {
  return yamlOf(await contractDocument({ config, warehouse, ledger }));
}

export async function contractDocument({
  config,
  warehouse,
  ledger,
}: Pick<App, 'config' | 'warehouse' | 'ledger'>): Promise<Readonly<Record<string, unknown>>> {
  const { warehouseId, service } = await ledger.ownership.read();
  const subject = {
    id: warehouseId,
    service: service ?? null,
    version: versionOfPackage(),
    rateBasis: await warehouse.months.rateBasis(),
    servers: serversOf(config),
  };
  return odcsDocument(subject, contractSettings(config));
}

function serversOf({ warehouse, feed }: Pick<Config, 'warehouse' | 'feed'>): readonly ContractServer[] {
  const servers = [warehouseServer(warehouse.url)];
  if (feed.url === undefined) return servers;
  const location = `${feed.url.startsWith('/') ? pathToFileURL(feed.url).href : feed.url}/manifest.json`;
  const description = 'The feed: the files that the manifest lists, and no others, with datapackage.json beside it';
  return [...servers, { server: 'feed', type: 'custom', description, location, format: feed.format }];
}

function warehouseServer(url: string): ContractServer {
  const server = 'warehouse';
  const file = databaseFileOf(url);
  if (file !== undefined) {
    const description = 'The warehouse in a DuckDB file: read it while no process writes, or a copy of it';
    return { server, type: 'duckdb', description, database: file, schema: 'main' };
  }
  const { host, port, database } = parsePostgresAddress(url);
  return {
    server,
    type: 'postgres',
    description: 'The warehouse in PostgreSQL',
    host,
    port,
    database,
    schema: 'public',
  };
}
