/**
 * Loaded before each process of a storm (NODE_OPTIONS=--import): the clock of its host, and the trap, a failpoint that the
 * first process to come to a step falls into. The file of STORM_TRAP says what happens: `{step, when, nth, what}`, where
 * `step` is a regular expression; whoever falls into it renames the file, so that one process does.
 */
import { appendFileSync, readFileSync, renameSync } from 'node:fs';
import process from 'node:process';

const file = process.env['STORM_TRAP'];
const offsetMs = Number(process.env['STORM_CLOCK_OFFSET_MS'] ?? 0);

/** How often the file is read: a step of a port is far shorter. */
const everyMs = 100;

if (offsetMs !== 0) {
  const real = Date;
  const now = () => real.now() + offsetMs;
  globalThis.Date = new Proxy(real, {
    construct: (target, args, newTarget) => {
      /** @type {object} */
      const made = Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget);
      return made;
    },
    apply: () => new real(now()).toString(),
    get: (target, key) => {
      /** @type {unknown} */
      const own = Reflect.get(target, key);
      return key === 'now' ? now : own;
    },
  });
}

if (file !== undefined) {
  const since = process.hrtime;
  let readAt = -everyMs;
  /** @type {{ step: RegExp, when: string, nth: number, what: string, text: string } | undefined} */
  let trap;
  let met = 0;

  const readTrap = () => {
    let text = '';
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      // There is none.
    }
    if (text === trap?.text) return;
    met = 0;
    if (text === '') {
      trap = undefined;
      return;
    }
    /** @type {{ step: string, when: string, nth: number, what: string }} */
    const armed = JSON.parse(text);
    trap = { ...armed, step: new RegExp(armed.step), text };
  };

  /**
   * @param {string} step
   * @param {string} when
   */
  const reach = (step, when) => {
    const [seconds, nanoseconds] = since();
    const nowMs = seconds * 1_000 + nanoseconds / 1e6;
    if (nowMs - readAt > everyMs) {
      readAt = nowMs;
      readTrap();
    }
    if (trap === undefined || trap.when !== when || !trap.step.test(step)) return;
    met += 1;
    if (met < trap.nth) return;
    const { what } = trap;
    trap = undefined;
    try {
      renameSync(file, `${file}.sprung`);
    } catch {
      // Another process was faster.
      return;
    }
    // By the clock of the storm, not by that of the host.
    const atMs = performance.timeOrigin + performance.now();
    appendFileSync(`${file}.log`, `${JSON.stringify({ pid: process.pid, atMs, step, when, what })}\n`);
    process.kill(process.pid, what === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  };

  Object.assign(globalThis, { [Symbol.for('wellsync.failpoint')]: reach });
}
