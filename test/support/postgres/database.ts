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

/** The statements of docs/postgres.md that begin with these words, up to the end of their block. */
async function documentedGrants(beginning: string): Promise<string> {
  const document = await readFile('docs/postgres.md', 'utf8');
  const from = document.indexOf(beginning);
  if (from < 0) throw new Error(`docs/postgres.md has no ${beginning}`);
  return document.slice(from, document.indexOf('```', from));
}

/**
 * As {@link databaseOfTest}, with the address of a role that has just the rights that docs/postgres.md names: its
 * statements are run as they stand there. The address of a role without a `password` of its own holds one.
 */
export async function databaseOfRole(
  password?: string,
  release: PostgresRelease = 'newest',
): Promise<FreshDatabase & { readonly role: string }> {
  const database = await databaseOfTest(release);
  const role = `role_${database.name}`;
  const secret = password ?? usualPassword;
  await createRole(database, role, secret);
  const grants = await documentedGrants('REVOKE ALL ON DATABASE');
  await database.run(grants.replaceAll('production', database.name).replaceAll('wellsync;', `${role};`));
  return { ...database, role, url: addressOf(database, role, password === undefined ? usualPassword : undefined) };
}

/** The address of a reader, with just the rights that docs/postgres.md names for one; after the warehouse was made. */
export async function readerOf(database: FreshDatabase): Promise<string> {
  const reader = `reader_${database.name}`;
  const grants = await documentedGrants('CREATE ROLE reader LOGIN;');
  await createRole(database, reader, usualPassword);
  await database.run(
    grants
      .slice(grants.indexOf('GRANT'))
      .replaceAll('DATABASE production', `DATABASE ${database.name}`)
      .replaceAll('reader', reader),
  );
  return addressOf(database, reader, usualPassword);
}

const usualPassword = 'correct-horse';

async function createRole({ run }: FreshDatabase, role: string, password: string): Promise<void> {
  await run(`CREATE ROLE ${role} LOGIN PASSWORD '${password.replaceAll("'", "''")}'`);
  onTestFinished(async () => {
    await run(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  });
}

function addressOf({ url }: FreshDatabase, role: string, password: string | undefined): string {
  const bare = new URL(url);
  bare.username = role;
  bare.password = password ?? '';
  return bare.href;
}

/** Why this machine has no server of a release; undefined where it has one. */
export async function postgresLack(release: PostgresRelease): Promise<string | undefined> {
  const server = await sharedPostgres(release);
  return 'lack' in server ? server.lack : undefined;
}

/** A transaction of its own that has run a statement, and keeps what it locked until it is ended; `run` adds to it. */
export async function holding(
  url: string,
  sql: string,
): Promise<{ run(more: string): Promise<unknown>; end(): Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(sql);
  return { run: (more) => client.query(more), end: () => client.end() };
}

export async function runAt(url: string, sql: string): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const results = [await client.query(sql)].flat();
    return (results.at(-1)?.rows ?? []) as ReadonlyArray<Readonly<Record<string, unknown>>>;
  } finally {
    await client.end();
  }
}
