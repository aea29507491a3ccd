/** Owns Redis servers of our own: on a free port of the loopback, gone when this process is. */
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startLeashed } from './leash.mjs';
import { askRedis } from './redis-talk.mjs';

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

/** A port of the loopback that nobody listens on. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * What is kept and where. Without a folder nothing is: the name of the snapshot is one that no file has, since Redis
 * would read a file that a stranger left there.
 * @param {string | undefined} appendOnlyFolder
 */
function persistence(appendOnlyFolder) {
  return appendOnlyFolder === undefined
    ? ['--appendonly', 'no', '--dir', tmpdir(), '--dbfilename', `wellsync-none-${process.pid}.rdb`]
    : ['--appendonly', 'yes', '--appendfsync', 'everysec', '--dir', appendOnlyFolder];
}

/**
 * Resolves when the server answers; false where it ended before.
 * @param {string} url
 * @param {Promise<number>} exited
 */
async function answers(url, exited) {
  const ended = exited.then(() => false);
  for (const giveUpAtMs = Date.now() + startLimitMs; Date.now() < giveUpAtMs;) {
    const ready = askRedis(url).then(
      () => true,
      // Refused, or still loading its append-only file: asked again shortly.
      () => delay(20).then(() => undefined),
    );
    const outcome = await Promise.race([ready, ended]);
    if (outcome !== undefined) return outcome;
  }
  return false;
}

/**
 * @typedef {object} PrivateRedis
 * @property {string} url
 * @property {number} pid
 * @property {Promise<number>} exited
 * @property {() => Promise<number>} stop SIGTERM; resolves when it is gone
 */

/**
 * Starts a server and resolves when it answers. Rejects with the server's last words where it does not come up.
 * @param {{ program: string, port?: number, appendOnlyFolder?: string }} options
 * @returns {Promise<PrivateRedis>}
 */
export async function startRedis({ program, port, appendOnlyFolder }) {
  const chosenPort = port ?? (await freePort());
  const url = `redis://127.0.0.1:${chosenPort}`;
  const server = startLeashed(
    program,
    // Redis reads `--save ''` as no snapshots; noeviction is what a queue needs, and wellsync insists on it.
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
    ],
    { stdout: 'pipe' },
  );
  let lastWords = '';
  server.stdout?.on('data', (text) => (lastWords = (lastWords + String(text)).slice(-1000)));
  if (await answers(url, server.exited)) {
    return { url, pid: await server.pid, exited: server.exited, stop: server.end };
  }
  await server.end();
  throw new Error(`${program} did not come up on port ${chosenPort}:\n${lastWords.trim()}`);
}
