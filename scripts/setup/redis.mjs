/**
 * A Redis for the scripts, in this order: the one that WELLSYNC_REDIS_URL names; one on the default port; a private one
 * from a program on this machine; a private one from a package that root may install on Debian.
 */
import { installPackage, mayInstall } from './debian.mjs';
import { redisProgram, startRedis } from './private-redis.mjs';
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
 * @property {() => Promise<unknown>} stop ends a private server, else does nothing
 */

/**
 * Runs wellsync's own check of a Redis, from dist, so that the scripts use none that wellsync refuses. Rejects with an
 * UnreachableError, which shows no password.
 *
 * @param {string} url
 */
async function checkRedis(url) {
  const module = new URL('../../dist/src/queue/redis/check.js', import.meta.url).href;
  const program = /** @type {typeof import('../../src/queue/redis/check.ts')} */ (await import(module));
  return program.checkRedis({ redis: { url }, prefix: 'wellsync' });
}

/**
 * The fault and its remedy.
 *
 * @param {unknown} error
 */
function reasonOf(error) {
  if (!(error instanceof Error)) return String(error);
  const hint = 'hint' in error && typeof error.hint === 'string' ? `. ${error.hint}` : '';
  return `${error.message}${hint}`.replace(/\.+$/, '');
}

/** @param {unknown} error */
function isNobodyThere(error) {
  return error instanceof Error && String(error.cause).includes('ECONNREFUSED');
}

/**
 * @param {string} url
 * @returns {Promise<ProvidedRedis>}
 */
async function takeNamed(url) {
  const { product } = await checkRedis(url).catch((error) => {
    throw new SetupError(`The Redis that WELLSYNC_REDIS_URL names is not fit: ${reasonOf(error)}.`);
  });
  console.log(`Using the ${product} that WELLSYNC_REDIS_URL names.`);
  return { url, stop: async () => {} };
}

/** @returns {Promise<ProvidedRedis | undefined>} */
async function takeUsual() {
  try {
    const { product } = await checkRedis(usualUrl);
    console.log(`Using the ${product} on 127.0.0.1:6379.`);
    return { url: usualUrl, stop: async () => {} };
  } catch (error) {
    if (!isNobodyThere(error)) console.log(`Leaving the Redis on 127.0.0.1:6379 alone: ${reasonOf(error)}.`);
    return undefined;
  }
}

async function installFromDebian() {
  const failedStep = await installPackage('redis-server');
  if (failedStep === undefined) return;
  throw new SetupError(`apt-get ${failedStep} failed; its words are above.\n${waysToGetOne}`);
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
 * Finds or starts a usable Redis; requires the dependencies and dist. Throws SetupError with the ways to get one.
 *
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
