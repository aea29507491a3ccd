/**
 * Owns where the scripts get a Redis from, in this order: the one that WELLSYNC_REDIS_URL names; one on the usual port;
 * a private one from a program of this machine; a private one from a package that root may install on Debian.
 */
import { existsSync } from 'node:fs';
import { runLeashed } from './leash.mjs';
import { redisProgram, startRedis } from './private-redis.mjs';
import { askRedis } from './redis-talk.mjs';
import { SetupError } from './setup-error.mjs';

const usualUrl = 'redis://127.0.0.1:6379';

const waysToGetOne = `No Redis was found: none is named in WELLSYNC_REDIS_URL, none fits on 127.0.0.1:6379, and there is no
redis-server or valkey-server on the PATH. Any of these will do; then run this again:
  sudo apt-get install redis-server          Debian, Ubuntu
  sudo dnf install valkey                    Fedora
  brew install redis                         macOS
  docker run -d -p 127.0.0.1:6379:6379 redis:7 redis-server --maxmemory-policy noeviction
  export WELLSYNC_REDIS_URL=redis://HOST:PORT`;

/**
 * @typedef {object} ProvidedRedis
 * @property {string} url
 * @property {() => Promise<unknown>} stop ends it where it is ours, else does nothing
 */

/** @param {unknown} error */
function reasonOf(error) {
  return (error instanceof Error ? error.message : String(error)).replace(/\.+$/, '');
}

/** @param {string} url */
async function requireFitting(url) {
  const { version, evictionPolicy } = await askRedis(url);
  if (evictionPolicy !== 'noeviction') {
    throw new Error(`its maxmemory-policy is ${evictionPolicy}, and a queue needs noeviction`);
  }
  return version;
}

/**
 * @param {string} url
 * @returns {Promise<ProvidedRedis>}
 */
async function takeNamed(url) {
  const version = await requireFitting(url).catch((error) => {
    throw new SetupError(`The Redis that WELLSYNC_REDIS_URL names cannot be used: ${reasonOf(error)}.`);
  });
  console.log(`Using the Redis ${version} that WELLSYNC_REDIS_URL names.`);
  return { url, stop: async () => {} };
}

/** @returns {Promise<ProvidedRedis | undefined>} */
async function takeUsual() {
  try {
    const version = await requireFitting(usualUrl);
    console.log(`Using the Redis ${version} on 127.0.0.1:6379.`);
    return { url: usualUrl, stop: async () => {} };
  } catch (error) {
    const reason = reasonOf(error);
    if (!reason.includes('ECONNREFUSED')) console.log(`Leaving the Redis on 127.0.0.1:6379 alone: ${reason}.`);
    return undefined;
  }
}

function mayInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync('/usr/bin/apt-get');
}

/** Installs the program alone: SYSTEMD_OFFLINE and RUNLEVEL keep the package from starting a service on the usual port. */
async function installFromDebian() {
  console.log('Installing redis-server (apt-get), since none is here and this is root on Debian …');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', SYSTEMD_OFFLINE: '1', RUNLEVEL: '1' };
  const updated = await runLeashed('apt-get', ['-qq', 'update'], { env });
  const install = ['-qq', '-y', '--no-install-recommends', '-o', 'Dpkg::Use-Pty=0', 'install', 'redis-server'];
  const installed = await runLeashed('apt-get', install, { env });
  if (installed === 0) return;
  const step = updated === 0 ? 'install' : 'update';
  throw new SetupError(`apt-get ${step} failed; its words are above.\n${waysToGetOne}`);
}

/**
 * @param {string} program
 * @returns {Promise<ProvidedRedis>}
 */
async function startPrivate(program) {
  const server = await startRedis({ program });
  console.log(`Started a private Redis (${program}) on port ${new URL(server.url).port}; it ends with this command.`);
  return server;
}

/**
 * Finds or starts a Redis that fits. Throws SetupError with the ways to get one.
 * @returns {Promise<ProvidedRedis>}
 */
export async function provideRedis() {
  const named = process.env['WELLSYNC_REDIS_URL'];
  if (named !== undefined && named !== '') return takeNamed(named);
  const usual = await takeUsual();
  if (usual !== undefined) return usual;
  if (redisProgram() === undefined && mayInstall()) await installFromDebian();
  const program = redisProgram();
  if (program === undefined) throw new SetupError(waysToGetOne);
  return startPrivate(program);
}
