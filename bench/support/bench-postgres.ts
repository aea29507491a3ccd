/**
 * The PostgreSQL server of the benchmarks: one of their own, on the disk and with its default durability, or the one that
 * WELLSYNC_BENCH_POSTGRES_URL names (`postgres://USER@HOST:PORT`, of a user who may create databases).
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../../test/support/postgres/postgres-server.ts';
import { treeSeconds } from './machine.ts';

export interface BenchPostgres extends AsyncDisposable {
  /** Makes a database, a copy of another one's where that is given, and returns its address. */
  database(name: string, from?: string): Promise<string>;
  drop(name: string): Promise<void>;
  /** CPU seconds of its processes until now; 0 for a server that is not the benchmark's own. */
  spentSeconds(): number;
  /** Runs statements in a database by a connection of their own; returns the rows of the last one. */
  run(name: string, sql: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>;
}

const settings = {
  fsync: 'on',
  full_page_writes: 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
} as const;

export async function benchPostgres(): Promise<BenchPostgres> {
  const named = process.env['WELLSYNC_BENCH_POSTGRES_URL'];
  if (named !== undefined)
    return databasesOf(
      named,
      () => 0,
      async () => undefined,
    );
  const server = await startPostgres('newest', settings, { root: tmpdir() });
  const [row] = await runAt(`${server.adminUrl}/postgres`, 'SHOW data_directory');
  const file = path.join(String(row?.['data_directory']), 'postmaster.pid');
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  return databasesOf(
    server.adminUrl,
    () => treeSeconds(pid),
    () => server.dispose(),
  );
}

function databasesOf(adminUrl: string, spentSeconds: () => number, dispose: () => Promise<void>): BenchPostgres {
  const admin = `${adminUrl}/postgres`;
  const nameOf = (name: string): string => `wellsync_bench_${name}`;
  const made = new Set<string>();
  const drop = async (name: string): Promise<void> => {
    await runAt(admin, `DROP DATABASE IF EXISTS ${nameOf(name)} WITH (FORCE)`);
    made.delete(name);
  };
  return {
    async database(name, from) {
      await drop(name);
      await runAt(admin, `CREATE DATABASE ${nameOf(name)} TEMPLATE ${from === undefined ? 'template0' : nameOf(from)}`);
      made.add(name);
      return `${adminUrl}/${nameOf(name)}`;
    },
    drop,
    spentSeconds,
    run: (name, sql) => runAt(`${adminUrl}/${nameOf(name)}`, sql),
    async [Symbol.asyncDispose]() {
      for (const name of made) await drop(name);
      await dispose();
    },
  };
}

async function runAt(url: string, sql: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const results = [await client.query<Record<string, unknown>>(sql)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
