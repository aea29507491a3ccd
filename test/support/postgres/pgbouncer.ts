/** A PgBouncer before a PostgreSQL server, which hands its connections on after each transaction. */
import { accessSync, chownSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { startLeashed } from '../../../scripts/setup/leash.mjs';
import { freePort } from '../../../scripts/setup/private-redis.mjs';
import { serverUid } from './postgres-program.ts';

const startLimitMs = 10_000;

/** Less than the clients have at one time, so that they share them. */
const serverConnections = 3;

/** Where Debian's package puts it, which is on the PATH of few users. */
const systemFolder = '/usr/sbin';

function pgbouncerProgram(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return [...folders, systemFolder].map((folder) => path.join(folder, 'pgbouncer')).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why {@link startPgbouncer} cannot run on this machine; undefined if it can. */
export function pgbouncerLack(): string | undefined {
  return pgbouncerProgram() === undefined
    ? 'this machine has no pgbouncer, a package of Debian of that name'
    : undefined;
}

export interface Pgbouncer extends AsyncDisposable {
  /** The address of the same database by way of the pooler. */
  through(databaseUrl: string): string;
  /** Transactions that it has handed on, of all databases. */
  transactions(): Promise<number>;
}

/** Lets in the users of `logins`, each with its password at the server, and asks them for none. */
export async function startPgbouncer(
  adminUrl: string,
  logins: Readonly<Record<string, string>> = {},
): Promise<Pgbouncer> {
  const program = pgbouncerProgram();
  if (program === undefined) throw new Error(pgbouncerLack());
  const folder = mkdtempSync(path.join(tmpdir(), 'wellsync-pgbouncer-'));
  const port = await freePort();
  const file = (name: string, text: string): string => {
    const place = path.join(folder, name);
    writeFileSync(place, text);
    if (serverUid !== undefined) chownSync(place, serverUid, serverUid);
    return place;
  };
  const known = Object.entries({ postgres: '', ...logins }).map(([user, password]) => `"${user}" "${password}"\n`);
  const { hostname, port: serverPort } = new URL(adminUrl);
  const settings = file(
    'pgbouncer.ini',
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${file('users', known.join(''))}
admin_users = postgres
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 500
; A refusal would hold all clients of its database for 15 s.
server_login_retry = 0.2
`,
  );
  const log = file('log', '');
  if (serverUid !== undefined) chownSync(folder, serverUid, serverUid);
  // It refuses to run as root. Its words would stand between those of the tests.
  const running = startLeashed('sh', ['-c', 'exec "$0" "$1" >>"$LOG" 2>&1', program, settings], {
    cwd: folder,
    env: { ...process.env, LOG: log },
    ...(serverUid === undefined ? {} : { uid: serverUid }),
  });
  const address = `postgres://postgres@127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    // From release 1.23 on, SIGTERM waits for every client.
    await running.send('SIGKILL');
    await running.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  if (!(await answers(`${address}/postgres`))) {
    const words = readFileSync(log, 'utf8');
    await stop();
    throw new Error(`PgBouncer did not come up on port ${port}:\n${words.slice(-1_000)}`);
  }
  return {
    through: (databaseUrl) => {
      const url = new URL(databaseUrl);
      url.port = String(port);
      return url.href;
    },
    async transactions() {
      const client = new Client({ connectionString: `${address}/pgbouncer` });
      await client.connect();
      try {
        const { rows } = await client.query<{ database: string; total_xact_count: string }>('SHOW STATS');
        return rows.reduce((sum, { total_xact_count: count }) => sum + Number(count), 0);
      } finally {
        await client.end();
      }
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function answers(url: string): Promise<boolean> {
  const sinceMs = performance.now();
  for (; performance.now() - sinceMs < startLimitMs; await delay(20)) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      // Not yet.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return false;
}
