/** Databases of the tests: each is new, and ends with its test. */
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { PostgresRelease } from './postgres-program.ts';
import { sharedPostgres } from './shared-postgres.ts';

export interface FreshDatabase {
  readonly name: string;
  /** `postgres://USER@HOST:PORT/NAME`, of a user who may do all. */
  readonly url: string;
  /** Runs statements by a connection of their own, and returns the rows of the last one. */
  run(sql: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>;
  drop(): Promise<void>;
}

let made = 0;

/** Creates an empty database on a server, by default without anything that its templates hold. */
export async function createDatabase(adminUrl: string, template = 'template0'): Promise<FreshDatabase> {
  made += 1;
  const name = `wellsync_${process.pid}_${made}`;
  const admin = `${adminUrl}/postgres`;
  await runAt(admin, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = `${adminUrl}/${name}`;
  return {
    name,
    url,
    run: (sql) => runAt(url, sql),
    drop: async () => void (await runAt(admin, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

/** An empty database of the running test; it ends with the test. Skips nothing: ask {@link postgresLack} first. */
export async function databaseOfTest(release: PostgresRelease = 'newest'): Promise<FreshDatabase> {
  const server = await sharedPostgres(release);
  if ('lack' in server) throw new Error(server.lack);
  const database = await createDatabase(server.adminUrl);
  onTestFinished(() => database.drop());
  return database;
}

/**
 * As {@link databaseOfTest}, with the address of a role that has just the rights that docs/postgres.md names: its
 * statements are run as they stand there. The address of a role without a `password` of its own holds one.
 */
export async function databaseOfRole(password?: string): Promise<FreshDatabase> {
  const database = await databaseOfTest();
  const role = `role_${database.name}`;
  const usual = 'correct-horse';
  const secret = password ?? usual;
  await database.run(`CREATE ROLE ${role} LOGIN PASSWORD '${secret.replaceAll("'", "''")}'`);
  const document = await readFile('docs/postgres.md', 'utf8');
  const grants = /REVOKE ALL ON DATABASE[^`]*/.exec(document)?.[0];
  if (grants === undefined) throw new Error('docs/postgres.md names no rights');
  await database.run(grants.replaceAll('production', database.name).replaceAll('wellsync;', `${role};`));
  onTestFinished(async () => {
    await database.run(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  });
  const login = password === undefined ? `${role}:${usual}` : role;
  return { ...database, url: database.url.replace('postgres@', `${login}@`) };
}

/** Why this machine has no server of a release; undefined where it has one. */
export async function postgresLack(release: PostgresRelease): Promise<string | undefined> {
  const server = await sharedPostgres(release);
  return 'lack' in server ? server.lack : undefined;
}

/** A transaction of its own that has run a statement, and keeps what it locked until it is ended. */
export async function holding(url: string, sql: string): Promise<{ end(): Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(sql);
  return { end: () => client.end() };
}

async function runAt(url: string, sql: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const results = [await client.query(sql)].flat();
    return (results.at(-1)?.rows ?? []) as ReadonlyArray<Readonly<Record<string, unknown>>>;
  } finally {
    await client.end();
  }
}
