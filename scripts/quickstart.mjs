/**
 * `npm run quickstart`: runs every job on the data of a local testing server. Sets up what it needs, leaves the production
 * of 24 generated wells in a DuckDB file, and leaves no process behind. `npm run quickstart -- --stay` then shows it all on
 * the pages of the console until Ctrl-C.
 */
import './setup/node-version.mjs';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed, startLeashed } from './setup/leash.mjs';
import { provideRedis } from './setup/redis.mjs';
import { SetupError, runScript } from './setup/setup-error.mjs';

const folder = 'quickstart-data';
const wellsFile = `${folder}/wells.csv`;
const pipesFile = `${folder}/pipes.csv`;
const warehouseFile = `${folder}/warehouse.duckdb`;
const warehouse = `duckdb:${warehouseFile}`;
const queuePrefix = 'wellsync-quickstart';
const program = 'dist/src/cli/main.js';
/** To yesterday, from three years before this one: wells whose last day is long ago count as stale. */
const today = new Date().toISOString().slice(0, 10);
const fieldFrom = `${Number(today.slice(0, 4)) - 3}-01-01`;
const field = ['--seed', '7', '--wells', '24', '--from', fieldFrom, '--to', today];

const summaryQuery = `SELECT count(*)::INTEGER AS "rows", count(DISTINCT uwi)::INTEGER AS wells,
  count(DISTINCT production_day)::INTEGER AS days, min(production_day)::VARCHAR AS first_day,
  max(production_day)::VARCHAR AS last_day FROM daily_production`;

const questionInWords = 'Which wells lost the most oil to downtime, and to what?';
const question =
  'SELECT uwi, round(sum(downtime_hours) / 24) AS days_down, round(sum(downtime_hours / 24 * usual_rate)) AS oil_lost, ' +
  'mode(downtime_code) AS main_cause FROM (SELECT *, avg(oil_rate) FILTER (WHERE downtime_hours = 0) OVER (PARTITION BY uwi) ' +
  'AS usual_rate FROM daily_production) GROUP BY uwi ORDER BY oil_lost DESC LIMIT 5';

/** Whether the console is served at the end. */
const isStaying = process.argv.includes('--stay');

/** @typedef {{ rows: number, wells: number, days: number, first_day: string, last_day: string }} Summary */

/** Removes only what an earlier quickstart left: other files in the folder stay. */
function clearFolder() {
  mkdirSync(folder, { recursive: true });
  for (const file of [wellsFile, pipesFile, warehouseFile, `${warehouseFile}.wal`]) rmSync(file, { force: true });
}

/**
 * Removes the queues of an earlier quickstart, which a shared Redis may still hold; their warehouse is gone.
 *
 * @param {string} redisUrl
 */
async function clearQueues(redisUrl) {
  const { Redis } = await import('ioredis');
  const redis = new Redis(redisUrl);
  try {
    for await (const keys of redis.scanStream({ match: `${queuePrefix}:*`, count: 1000 })) {
      if (Array.isArray(keys) && keys.length > 0) await redis.unlink(...keys.map(String));
    }
  } finally {
    redis.disconnect();
  }
}

/**
 * The first line of a child's standard output. Rejects if the child ends, or `limitMs` pass, without one.
 *
 * @param {import('./setup/leash.mjs').Leashed} child
 * @param {number} limitMs
 * @returns {Promise<string>}
 */
function firstLine(child, limitMs) {
  return new Promise((resolve, reject) => {
    const fail = (/** @type {string} */ why) => reject(new SetupError(`The testing server did not come up: ${why}.`));
    const timer = setTimeout(() => fail(`no word within ${limitMs / 1000} s`), limitMs);
    void child.exited.then((code) => fail(`it ended with code ${code}`)).finally(() => clearTimeout(timer));
    if (child.stdout === null) return;
    createInterface(child.stdout).on('line', (line) => {
      clearTimeout(timer);
      resolve(line);
    });
  });
}

/** @returns {Promise<{ url: string, stop: () => Promise<unknown> }>} */
async function startTestingServer() {
  const server = startLeashed(process.execPath, [program, 'testing-server', ...field, '--port', '0', '--json'], {
    stdout: 'pipe',
  });
  try {
    const { url } = /** @type {{ url: string }} */ (JSON.parse(await firstLine(server, 30_000)));
    return { url, stop: server.end };
  } catch (error) {
    await server.end();
    throw error;
  }
}

/**
 * Writes the testing server's wells to a list, as an operator would provide it.
 *
 * @param {string} serviceUrl
 */
async function writeWells(serviceUrl) {
  const response = await fetch(`${serviceUrl}/testing/state`);
  const { wells } = /** @type {{ wells: string[] }} */ (await response.json());
  writeFileSync(wellsFile, ['uwi', ...wells.map((uwi) => `"${uwi.replaceAll('"', '""')}"`), ''].join('\n'));
  return wells;
}

/** Writes a network of two pipes, as an engineering tool would. */
function writePipes() {
  const columns = 'sourceNetworkId,sourceId,upstreamSourceId,downstreamSourceId,enabled,length,innerDiameter';
  const rows = [
    'field,flowline 1,manifold A,separator,true,[120.5],[0.1524]',
    'field,flowline 2,manifold B,separator,true,[80],[0.1524]',
  ];
  writeFileSync(pipesFile, [columns, ...rows, ''].join('\n'));
}

/**
 * The commands of the other jobs, each with a minimal example.
 *
 * @param {string} well
 */
function otherJobs(well) {
  const equipment = `EQ ${well}`;
  return [
    ['push', 'network-pipes', pipesFile, '--inline'],
    ['export', 'wells', '--well', well, '--inline'],
    ['export', 'time-series', '--equipment', equipment, '--inline'],
  ];
}

/**
 * Makes and shows a plan of a cleanup, then applies it.
 *
 * @param {string} well
 * @param {NodeJS.ProcessEnv} env
 */
async function cleanUp(well, env) {
  // The well produces: without the flag its targets would be refused.
  const args = [program, 'cleanup', 'micro-strings', '--well', well, '--include-producing', '--json'];
  const planning = startLeashed(process.execPath, args, { env, stdout: 'pipe' });
  let text = '';
  planning.stdout?.on('data', (part) => (text += String(part)));
  const code = await planning.exited;
  if (code !== 0) return code;
  const { planId } = /** @type {{ planId: string }} */ (JSON.parse(text));
  return runLeashed(process.execPath, [program, 'cleanup', '--apply', planId, '--yes', '--inline'], { env });
}

/**
 * @param {string} serviceUrl
 * @param {string} redisUrl
 */
function environment(serviceUrl, redisUrl) {
  // An operator's own settings must not lead the quickstart to a real warehouse or a real service.
  const neutral = Object.entries(process.env).filter(([name]) => !name.startsWith('WELLSYNC_'));
  return {
    ...Object.fromEntries(neutral),
    WELLSYNC_SERVICE_URL: serviceUrl,
    WELLSYNC_REDIS_URL: redisUrl,
    WELLSYNC_WAREHOUSE: warehouse,
    WELLSYNC_DATA_DIR: folder,
    WELLSYNC_QUEUE_PREFIX: queuePrefix,
  };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Summary>}
 */
async function readSummary(env) {
  const query = startLeashed(process.execPath, [program, 'query', summaryQuery, '--json'], { env, stdout: 'pipe' });
  let text = '';
  query.stdout?.on('data', (part) => (text += String(part)));
  const code = await query.exited;
  if (code !== 0) throw new SetupError(`wellsync query ended with code ${code}; its words are above.`);
  const [summary] = /** @type {Summary[]} */ (JSON.parse(text));
  if (summary === undefined) throw new Error(`the summary is empty: ${text}`);
  return summary;
}

/** @param {number} count */
function grouped(count) {
  return Math.round(count).toLocaleString('en-US');
}

/**
 * @param {Summary} summary
 * @param {number} exportSeconds
 */
function summaryText({ rows, wells, days, first_day: firstDay, last_day: lastDay }, exportSeconds) {
  return `
The production of ${wells} wells is in the warehouse.

  rows          ${grouped(rows)}
  days covered  ${grouped(days)}, from ${firstDay} to ${lastDay}
  time          ${exportSeconds.toFixed(1)} s from start to end
  warehouse     ${warehouseFile}

${isStaying ? '' : `To see it in a browser:  npm run quickstart -- --stay\n\n`}Three commands to try next:

  # ${questionInWords}
  node ${program} query --warehouse ${warehouse} "${question}"

  # What was read, and is it reconciled?
  node ${program} runs list --warehouse ${warehouse}

  # What else can an export do?
  node ${program} export daily-production --help
`;
}

/**
 * @param {string} redisUrl
 * @returns {Promise<number>}
 */
async function runEveryJob(redisUrl) {
  const server = await startTestingServer();
  try {
    const wells = await writeWells(server.url);
    const env = environment(server.url, redisUrl);
    const [first = ''] = wells;
    writePipes();
    console.log(
      `A testing server runs at ${server.url}: a push, two exports and a cleanup of it, with a well each …\n`,
    );
    for (const job of otherJobs(first)) {
      const code = await runLeashed(process.execPath, [program, ...job], { env });
      if (code !== 0) return code;
    }
    const cleanupCode = await cleanUp(first, env);
    if (cleanupCode !== 0) return cleanupCode;
    console.log(`\nIt offers ${wells.length} wells, from ${fieldFrom} on; exporting them …\n`);
    const startedAtMs = performance.now();
    const args = [program, 'export', 'daily-production', '--wells', wellsFile, '--inline'];
    const code = await runLeashed(process.execPath, args, { env });
    const exportSeconds = (performance.now() - startedAtMs) / 1000;
    if (code !== 0) return code;
    console.log(summaryText(await readSummary(env), exportSeconds));
    return isStaying ? await stay(env) : 0;
  } finally {
    await server.stop();
  }
}

/**
 * Serves the console until Ctrl-C, which is its usual end.
 *
 * @param {NodeJS.ProcessEnv} env
 */
async function stay(env) {
  console.log('Open the address below in a browser.\n');
  const code = await runLeashed(process.execPath, [program, 'serve', '--port', '0'], { env });
  return code === 130 || code === 143 ? 0 : code;
}

await runScript(async () => {
  await provideDependencies();
  await provideDistribution();
  clearFolder();
  const redis = await provideRedis();
  try {
    await clearQueues(redis.url);
    const code = await runEveryJob(redis.url);
    await clearQueues(redis.url);
    return code;
  } finally {
    await redis.stop();
  }
});
