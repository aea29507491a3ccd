/** A program that starts itself with limits of memory, as `wellsync worker` does, and then does what its argument names. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag, getHeapStatistics } from 'node:v8';
/** @type {typeof import('../../src/cli/process/stop-signals.ts')} */
const { listenForStop } = await built('process/stop-signals');
/** @type {typeof import('../../src/cli/process/limited-process.ts')} */
const { isLimited, runLimited } = await built('process/limited-process');

/**
 * @param {string} name
 * @returns {Promise<any>}
 */
function built(name) {
  return import(new URL(`../../dist/src/cli/${name}.js`, import.meta.url).href);
}

/** @type {Record<string, () => Promise<void>>} */
const acts = {
  /** Its limits, and standard input in capitals. */
  async echo() {
    const { MALLOC_ARENA_MAX: arenas, WELLSYNC_PARENT_PID: parent = null } = process.env;
    const heapMb = Math.round(getHeapStatistics().heap_size_limit / 1024 / 1024);
    const { columns } = process.stdout;
    console.log(
      JSON.stringify({
        heapMb,
        arenas,
        parent,
        codeTag: cachedDataVersionTag(),
        isTTY: isatty(1),
        columns,
        input: (await text(process.stdin)).toUpperCase(),
      }),
    );
    console.error('to standard error');
    process.exitCode = 3;
  },
  /** The echo of another run of the program, which inherits environment and streams. */
  async nested() {
    await once(spawn(process.execPath, [process.argv[1] ?? '', 'echo'], { stdio: 'inherit' }), 'exit');
  },
  /** Counts the requests to stop for a while after the first. The second one ends it with 4. */
  stop: () => stopWithin(700),
  /** Stops for so long that a second request always comes before its end. */
  linger: () => stopWithin(120_000),
  /** Listens to no signal. */
  async wait() {
    console.log(`ready ${process.pid}`);
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  },
  /** Listens to no signal, and says nothing for a minute. */
  async late() {
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    console.log('worked');
  },
  async exhaust() {
    const kept = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, (_, place) => ({ place })));
  },
};

/** @param {number} stopMs how long it stops after the first request */
async function stopWithin(stopMs) {
  const stop = listenForStop(4);
  const clock = setInterval(() => undefined, 1_000);
  console.log(`ready ${process.pid}`);
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  console.log('stopping');
  await new Promise((resolve) => setTimeout(resolve, stopMs));
  clearInterval(clock);
  console.log('stopped');
}

const act = process.argv[2] ?? 'echo';
const budget = { heapMb: 48, semiSpaceMb: 1, engineMb: 1, rowsInMemory: 1, batchRows: 1, bodyBytes: 1 };

if (!isLimited()) {
  try {
    process.exitCode = await runLimited(fileURLToPath(import.meta.url), [act], budget, 384);
  } catch (error) {
    const { message, hint } = /** @type {Error & { hint: string }} */ (error);
    console.error(`${message}\n${hint}`);
    process.exitCode = 1;
  }
} else {
  await acts[act]?.();
}
