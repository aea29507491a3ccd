/** `npm test [-- FILTER ...]`: everything that the tests need, then the tests; ends with vitest's exit code. */
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed } from './setup/leash.mjs';
import { provideRedis } from './setup/redis.mjs';
import { runScript } from './setup/setup-error.mjs';

/**
 * The environment of the tests: an operator's own settings must not decide what they see.
 * @param {string} redisUrl
 */
function testEnvironment(redisUrl) {
  const neutral = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('WELLSYNC_') || name.startsWith('WELLSYNC_TEST_'),
  );
  return { ...Object.fromEntries(neutral), WELLSYNC_TEST_REDIS_URL: redisUrl };
}

await runScript(async () => {
  await provideDependencies();
  await provideDistribution();
  const redis = await provideRedis();
  try {
    const args = ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)];
    return await runLeashed(process.execPath, args, { env: testEnvironment(redis.url) });
  } finally {
    await redis.stop();
  }
});
