/**
 * `npm test [-- FILTER ...]`: prepares what the tests need, runs them, and ends with vitest's exit code. With `--full`
 * (`npm run test:full`), tests that have a larger size run in that size.
 */
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed } from './setup/leash.mjs';
import { provideRedis } from './setup/redis.mjs';
import { runScript } from './setup/setup-error.mjs';

const isFull = process.argv.includes('--full');
const vitestArgs = process.argv.slice(2).filter((arg) => arg !== '--full');

/**
 * The environment of the tests, without an operator's own settings.
 *
 * @param {string} redisUrl
 */
function testEnvironment(redisUrl) {
  const neutral = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('WELLSYNC_') || name.startsWith('WELLSYNC_TEST_'),
  );
  return {
    ...Object.fromEntries(neutral),
    WELLSYNC_TEST_REDIS_URL: redisUrl,
    ...(isFull ? { WELLSYNC_TEST_FULL: '1' } : {}),
  };
}

await runScript(async () => {
  await provideDependencies();
  await provideDistribution();
  const redis = await provideRedis();
  try {
    const args = ['node_modules/vitest/vitest.mjs', 'run', ...vitestArgs];
    return await runLeashed(process.execPath, args, { env: testEnvironment(redis.url) });
  } finally {
    await redis.stop();
  }
});
