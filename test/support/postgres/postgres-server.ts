/** PostgreSQL servers of the tests: a new one in a folder of its own, on a free port of 127.0.0.1. */
import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { startLeashed } from '../../../scripts/setup/leash.mjs';
import { freePort } from '../../../scripts/setup/private-redis.mjs';
import { isAlive, processTree } from '../process-tree.ts';
import type { Certified } from '../tls-certificates.ts';
import { postgresFolder, type PostgresRelease, serverUid } from './postgres-program.ts';

export interface PostgresServer {
  /** `postgres://USER@HOST:PORT`, of a user who may do all. The same after a restart. */
  readonly adminUrl: string;
  /** Ends it as a shutdown does, and resolves when its process is gone. */
  stop(): Promise<void>;
  /** Ends it as a loss of power does. */
  kill(): Promise<void>;
  /** Starts it again after {@link stop} or {@link kill}. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  dispose(): Promise<void>;
}

const startLimitMs = 20_000;

/** Nothing of a test outlives a loss of power, so that nothing waits for the disk. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  shared_buffers: '64MB',
  log_min_messages: 'fatal',
} as const;

/** Passwords are asked of every user but the first. */
const access = `host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n`;

/** As {@link access}, by TLS alone; the user `certified` shows a certificate instead. */
const tlsAccess = `host all postgres 127.0.0.1/32 trust
hostssl all certified 127.0.0.1/32 cert
hostssl all all 127.0.0.1/32 scram-sha-256
`;

/** The certificate of a server, and the one of the authority that its clients' are signed by. */
export interface ServerTls extends Certified {
  readonly ca: string;
}

/**
 * Starts a server of a release, in a new folder below `root`; with `tls`, it lets its users in by TLS alone. Throws Error where this machine has none, with what it lacks.
 */
export async function startPostgres(
  release: PostgresRelease,
  extra: Readonly<Record<string, string>> = {},
  { root = quickestFolder(), tls }: { readonly root?: string; readonly tls?: ServerTls } = {},
): Promise<PostgresServer> {
  const programs = postgresFolder(release);
  const folder = mkdtempSync(path.join(root, 'wellsync-postgres-'));
  if (serverUid !== undefined) chownSync(folder, serverUid, serverUid);
  const asServer = serverUid === undefined ? { cwd: folder } : { cwd: folder, uid: serverUid, gid: serverUid };
  const data = path.join(folder, 'data');
  const made = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync', ...orderOf(release)];
  await promisify(execFile)(path.join(programs, 'initdb'), made, { ...asServer, env: { ...process.env, TZ: 'UTC' } });
  writeFileSync(path.join(data, 'pg_hba.conf'), tls === undefined ? access : tlsAccess);
  const secured = tls === undefined ? {} : writeTls(data, tls);
  const port = await freePort();
  const lines = Object.entries({ ...settings, ...secured, port: String(port), ...extra }).map(
    ([name, value]) => `${name} = '${value}'`,
  );
  appendFileSync(path.join(data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  const adminUrl = `postgres://postgres@127.0.0.1:${port}`;
  let running: ReturnType<typeof startLeashed> | undefined;

  async function start(triesLeft = 40): Promise<void> {
    // Its words would stand between those of the tests.
    running = startLeashed('sh', ['-c', 'exec "$0" "$@" >>"$LOG" 2>&1', path.join(programs, 'postgres'), '-D', data], {
      ...asServer,
      env: { ...process.env, LOG: path.join(folder, 'log') },
    });
    if (await answers(adminUrl, running.exited)) return;
    const log = readFileSync(path.join(folder, 'log'), 'utf8').slice(-1000);
    // After a kill, its processes that still end keep the memory that they share.
    if (!log.includes('pre-existing shared memory block') || triesLeft === 0)
      throw new Error(`PostgreSQL did not come up on port ${port}:\n${log}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
    await start(triesLeft - 1);
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const server = running;
    running = undefined;
    await server?.send(signal);
    await server?.exited;
  }

  /** Its processes outlive it for a moment, and answer those who are connected. */
  async function kill(): Promise<void> {
    const processes = running === undefined ? [] : processTree(await running.pid);
    await end('SIGKILL');
    while (processes.some(isAlive)) await delay(5);
  }

  await start();
  return {
    adminUrl,
    start,
    // SIGINT lets nobody finish; SIGTERM would wait until the last client has gone.
    stop: () => end('SIGINT'),
    kill,
    dispose: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the settings that name the files. */
function writeTls(data: string, { cert, key, ca }: ServerTls): Readonly<Record<string, string>> {
  for (const [name, pem] of Object.entries({ 'server.crt': cert, 'server.key': key, 'ca.crt': ca })) {
    const file = path.join(data, name);
    writeFileSync(file, pem, { mode: 0o600 });
    if (serverUid !== undefined) chownSync(file, serverUid, serverUid);
  }
  return { ssl: 'on', ssl_cert_file: 'server.crt', ssl_key_file: 'server.key', ssl_ca_file: 'ca.crt' };
}

const memoryFolder = '/dev/shm';
const leastMemoryBytes = 2 ** 30;

/** A database is 300 files: to make one takes ten times as long on a disk as in memory. */
function quickestFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    return bavail * bsize >= leastMemoryBytes ? memoryFolder : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Texts of the newest release are in the order of English, so that a test sees where a statement relies on another. */
function orderOf(release: PostgresRelease): readonly string[] {
  return release === 'newest' ? ['--locale=C', '--locale-provider=icu', '--icu-locale=en'] : ['--locale=C'];
}

/** Resolves to false if the server ended before it answered, or does not answer in time. */
async function answers(adminUrl: string, exited: Promise<number>): Promise<boolean> {
  const ended = new AbortController();
  void exited.then(() => ended.abort());
  const sinceMs = performance.now();
  for (; !ended.signal.aborted && performance.now() - sinceMs < startLimitMs; await delay(20)) {
    const client = new Client({ connectionString: `${adminUrl}/postgres` });
    try {
      await client.connect();
      return true;
    } catch {
      // Not yet.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return false;
}
