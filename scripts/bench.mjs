/**
 * `npm run bench [-- NAME ...] [--json FILE] [--compare OLD.json]`: prepares what the benchmarks need, runs the named ones
 * of bench/ or the usual ones, and shows all their figures in one table. `npm run bench:large` runs the large ones. The
 * exit code is 0 whatever the figures are, unless a benchmark fails.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed } from './setup/leash.mjs';
import { startRedis, redisProgram } from './setup/private-redis.mjs';
import { runScript, SetupError } from './setup/setup-error.mjs';

/** What takes minutes. */
const large = ['export-large', 'growth', 'postgres', 'postgres-night', 'postgres-workers'];
/** What a decision record, or a part alone, is measured by. */
const onRequest = ['checks', 'push-travel'];

/**
 * @param {readonly string[]} wanted
 * @param {boolean} isLarge
 */
function chosen(wanted, isLarge) {
  const all = readdirSync('bench')
    .filter((file) => file.endsWith('.bench.ts'))
    .map((file) => file.slice(0, -'.bench.ts'.length));
  const unknown = wanted.filter((name) => !all.includes(name));
  if (unknown.length > 0)
    throw new SetupError(`there is no benchmark ${unknown.join(', ')}: there are ${all.join(', ')}`);
  if (wanted.length > 0) return wanted;
  return all.filter((name) => large.includes(name) === isLarge && !onRequest.includes(name));
}

function readArguments() {
  const options = /** @type {const} */ ({
    large: { type: 'boolean', default: false },
    json: { type: 'string' },
    compare: { type: 'string' },
  });
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new SetupError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Runs the benchmarks one after the other.
 * @param {readonly string[]} names
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>} the exit code of the first that fails, or 0
 */
async function runEach(names, env) {
  for (const name of names) {
    console.log(`${name} …`);
    const code = await runLeashed(process.execPath, [`dist/bench/${name}.bench.js`], { env });
    if (code !== 0) return code;
  }
  return 0;
}

await runScript(async () => {
  const { values, positionals } = readArguments();
  const names = chosen(positionals, values.large);
  const { json = path.join('.bench', `${values.large ? 'large' : 'latest'}.json`), compare } = values;
  if (compare !== undefined && !existsSync(compare)) throw new SetupError(`there is no ${compare} to compare with`);
  await provideDependencies();
  await provideDistribution();
  const program = redisProgram();
  if (program === undefined)
    throw new SetupError('the benchmarks measure the memory of a Redis of their own: put redis-server on the PATH');
  const folder = mkdtempSync(path.join(tmpdir(), 'wellsync-bench-'));
  const redis = await startRedis({ program });
  try {
    const results = path.join(folder, 'results.jsonl');
    writeFileSync(results, '');
    const env = { ...process.env, WELLSYNC_BENCH_REDIS_URL: redis.url, WELLSYNC_BENCH_RESULTS: results };
    const code = await runEach(names, env);
    const files = [results, json, ...(compare === undefined ? [] : [compare])];
    const shown = await runLeashed(process.execPath, ['dist/bench/report/main.js', ...files]);
    return code === 0 ? shown : code;
  } finally {
    await redis.stop();
    rmSync(folder, { recursive: true });
  }
});
