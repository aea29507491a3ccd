/** `npm run bench [-- NAME ...]`: prepares what the benchmarks need, then runs the named ones of bench/, or all. */
import { readdirSync } from 'node:fs';
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed } from './setup/leash.mjs';
import { startRedis, redisProgram } from './setup/private-redis.mjs';
import { runScript, SetupError } from './setup/setup-error.mjs';

/** @param {readonly string[]} wanted */
function chosen(wanted) {
  const all = readdirSync('bench')
    .filter((file) => file.endsWith('.bench.ts'))
    .map((file) => file.slice(0, -'.bench.ts'.length));
  const unknown = wanted.filter((name) => !all.includes(name));
  if (unknown.length > 0)
    throw new SetupError(`there is no benchmark ${unknown.join(', ')}: there are ${all.join(', ')}`);
  return wanted.length > 0 ? wanted : all;
}

await runScript(async () => {
  const names = chosen(process.argv.slice(2));
  await provideDependencies();
  await provideDistribution();
  const program = redisProgram();
  if (program === undefined)
    throw new SetupError('the benchmarks measure the memory of a Redis of their own: put redis-server on the PATH');
  const redis = await startRedis({ program });
  try {
    for (const name of names) {
      const env = { ...process.env, WELLSYNC_BENCH_REDIS_URL: redis.url };
      const code = await runLeashed(process.execPath, [`dist/bench/${name}.bench.js`], { env });
      if (code !== 0) return code;
    }
    return 0;
  } finally {
    await redis.stop();
  }
});
