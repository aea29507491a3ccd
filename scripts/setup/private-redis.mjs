/** Private Redis servers: on a free port of 127.0.0.1, ended with this process. */
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startLeashed } from './leash.mjs';

const startLimitMs = 10_000;

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first redis-server or valkey-server of the PATH, or undefined. */
export function redisProgram() {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return ['redis-server', 'valkey-server']
    .flatMap((name) => folders.map((folder) => path.join(folder, name)))
    .find(isExecutable);
}

/**
 * A free port of 127.0.0.1, from 10,000 to 32,767. Outgoing connections are given higher ones unless a system is set otherwise: a
 * server that is started later, or again, could find one of those taken.
 */
export async function freePort() {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(10_000, 32_768);
    if (await isFree(port)) return port;
  }
  throw new Error('100 ports of 127.0.0.1 are taken');
}

/** @param {number} port */
async function isFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    if (['EADDRINUSE', 'EACCES'].includes(code)) return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * Arguments for persistence. Without a folder nothing is stored; the snapshot gets a name that no file has, since Redis
 * would load a file that it finds.
 *
 * @param {string | undefined} appendOnlyFolder
 */
function persistence(appendOnlyFolder) {
  return appendOnlyFolder === undefined
    ? ['--appendonly', 'no', '--dir', tmpdir(), '--dbfilename', `wellsync-none-${process.pid}.rdb`]
    : ['--appendonly', 'yes', '--appendfsync', 'everysec', '--dir', appendOnlyFolder];
}

/**
 * Resolves to true when the server answers, to false if it ended or `startLimitMs` passed before.
 *
 * @param {string} url
 * @param {Promise<number>} exited
 * @param {RedisAccess} access
 */
async function answers(url, exited, access) {
  const { Redis } = await import('ioredis');
  // Retries while nothing listens yet, and while the server loads its append-only file.
  const redis = new Redis(url, { ...access, retryStrategy: () => 20, maxRetriesPerRequest: null });
  // Without a listener ioredis prints each refused connection.
  redis.on('error', () => undefined);
  const late = new AbortController();
  try {
    return await Promise.race([
      redis.ping().then(() => true),
      exited.then(() => false),
      delay(startLimitMs, false, { signal: late.signal }),
    ]);
  } finally {
    late.abort();
    redis.disconnect();
  }
}

/** @typedef {{ tls?: import('node:tls').ConnectionOptions, username?: string, password?: string }} RedisAccess */

/**
 * @typedef {object} PrivateRedis
 * @property {string} url
 * @property {number} pid
 * @property {Promise<number>} exited
 * @property {() => Promise<number>} stop sends SIGTERM and resolves when the server is gone
 */

/**
 * Starts a server and resolves when it answers. Rejects with the server's last output if it does not start.
 *
 * @param {{
 *   program: string,
 *   port?: number,
 *   appendOnlyFolder?: string,
 *   more?: (port: number) => readonly string[],
 *   access?: RedisAccess,
 * }} options `more`: arguments after the others, of which the last counts; `access`: how a client gets in, where that is
 *   not by a plain connection
 * @returns {Promise<PrivateRedis>}
 */
export async function startRedis({ program, port, appendOnlyFolder, more = () => [], access = {} }) {
  const chosenPort = port ?? (await freePort());
  const url = `${access.tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${chosenPort}`;
  const server = startLeashed(
    program,
    // Redis reads `--save ''` as no snapshots. A queue needs noeviction, and wellsync insists on it.
    [
      '--port',
      String(chosenPort),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
      ...persistence(appendOnlyFolder),
      ...more(chosenPort),
    ],
    { stdout: 'pipe' },
  );
  let lastWords = '';
  server.stdout?.on('data', (text) => (lastWords = (lastWords + String(text)).slice(-1000)));
  if (await answers(url, server.exited, access)) {
    return { url, pid: await server.pid, exited: server.exited, stop: server.end };
  }
  await server.end();
  throw new Error(`${program} did not come up on port ${chosenPort}:\n${lastWords.trim()}`);
}
