/**
 * `wellsync worker` with shorter times of the beat, which are no setting of an operator: BEAT_EVERY_MS and STALE_AFTER_MS.
 * Its settings come from the environment alone. Prints a line when it works; ends by SIGTERM, or with the exit code of
 * its error.
 */
import { once } from 'node:events';
import process from 'node:process';

/** @type {typeof import('../../config/load.ts')} */
const { loadConfig } = await built('config/load.js');
/** @type {typeof import('../../src/app/app.ts')} */
const { createApp } = await built('src/app/app.js');
/** @type {typeof import('../../src/app/log.ts')} */
const { createLog } = await built('src/app/log.js');
/** @type {typeof import('../../src/app/preflight.ts')} */
const { checkBeforeWorking } = await built('src/app/preflight.js');
/** @type {typeof import('../../src/app/runs/worker-host.ts')} */
const { workHere } = await built('src/app/runs/worker-host.js');
/** @type {typeof import('../../src/core/run/exit-code.ts')} */
const { exitCodeOfError } = await built('src/core/run/exit-code.js');
/** @type {typeof import('../../src/core/base/errors.ts')} */
const { faultOf } = await built('src/core/base/errors.js');

const { BEAT_EVERY_MS, STALE_AFTER_MS } = process.env;
const config = loadConfig({ environment: process.env });
const log = createLog({ level: 'info', config });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const beat = { beatEveryMs: Number(BEAT_EVERY_MS), staleAfterMs: Number(STALE_AFTER_MS) };
const app = createApp(config, { log, beat });
try {
  await checkBeforeWorking(app);
  await workHere({ app, queues: ['export', 'push', 'cleanup'], log }, async (takenOver) => {
    console.log('Working');
    const ending = AbortSignal.any([stop.signal, takenOver]);
    if (!ending.aborted) await once(ending, 'abort');
  });
} catch (error) {
  const { message, hint = '' } = faultOf(error);
  console.error(message, hint);
  process.exitCode = exitCodeOfError(error);
} finally {
  await app[Symbol.asyncDispose]();
}

/**
 * @param {string} file below dist
 * @returns {Promise<any>}
 */
function built(file) {
  return import(new URL(`../../dist/${file}`, import.meta.url).href);
}
