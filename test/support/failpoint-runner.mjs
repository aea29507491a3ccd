/**
 * Works commands of wellsync one after another in one process, and at one step of a command does what it is told: `kill`
 * (SIGKILL), `hang` (SIGSTOP, for the test to kill), `error` (an error that wellsync does not know) or `transient`. Each
 * message is a command; the answer has its result, and its steps where they are wanted.
 */
import { writeSync } from 'node:fs';
import process from 'node:process';
import { Readable, Writable } from 'node:stream';

/** A byte on it says that the process hangs, or kills itself. */
const reached = 4;

/** @type {string[]} */
let steps = [];
/** @type {Set<string>} */
let existing = new Set();
/** @type {import('./failpoint-process.ts').At | undefined} */
let point;
let met = 0;

/**
 * @param {string} step
 * @param {string} when
 */
function reach(step, when) {
  steps.push(`${step} ${when}`);
  if (point === undefined || point.step !== step || point.when !== when) return;
  met += 1;
  if (met !== point.nth) return;
  if (point.what === 'kill' || point.what === 'hang') {
    writeSync(reached, '.');
    process.kill(process.pid, point.what === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  } else if (point.what === 'transient') throw new TransientError('failpoint', `a fault that passes at ${step}`);
  else throw new Error(`a fault at ${step}`);
}

/**
 * @param {string} name
 * @param {object} port
 */
function note(name, port) {
  // Of node:fs only some functions are used.
  if (Object.prototype.toString.call(port) === '[object Module]') return;
  const ownClass = /** @type {object} */ (Object.getPrototypeOf(port));
  const members = { ...Object.getOwnPropertyDescriptors(port) };
  if (ownClass !== Object.prototype) Object.assign(members, Object.getOwnPropertyDescriptors(ownClass));
  for (const [key, member] of Object.entries(members)) {
    const value = /** @type {unknown} */ (member.value);
    if (key !== 'constructor' && typeof value === 'function') existing.add(`${name}.${key}`);
    else if (typeof value === 'object' && value !== null && Object.values(value).some(isFunction)) {
      note(`${name}.${key}`, value);
    }
  }
}

/** @param {unknown} value */
function isFunction(value) {
  return typeof value === 'function';
}

Object.assign(globalThis, { [Symbol.for('wellsync.failpoint')]: Object.assign(reach, { opened: note }) });
const built = (/** @type {string} */ file) => new URL(`../../dist/src/${file}`, import.meta.url).href;
/** @type {typeof import('../../src/cli/program.ts')} */
const { Program } = await import(built('cli/program.js'));
/** @type {typeof import('../../src/core/base/errors.ts')} */
const { TransientError } = await import(built('core/base/errors.js'));

class Collector extends Writable {
  text = '';

  /**
   * @override
   * @type {Writable['_write']}
   */
  _write(chunk, _encoding, done) {
    this.text += String(chunk);
    done();
  }
}

/** @param {import('./failpoint-process.ts').Command} command */
async function work({ args, environment, at, isRecorded }) {
  [steps, existing, point, met] = [[], new Set(), at, 0];
  const [stdout, stderr] = [new Collector(), new Collector()];
  const code = await new Program({ args, environment, stdin: Readable.from([]), stdout, stderr }).run();
  const isMet = point !== undefined && met >= point.nth;
  point = undefined;
  const recorded = isRecorded ? { steps, existing: [...existing] } : {};
  process.send?.({ code, stdout: stdout.text, stderr: stderr.text, isMet, ...recorded });
}

process.on('message', (command) => void work(/** @type {import('./failpoint-process.ts').Command} */ (command)));
process.on('disconnect', () => process.exit());
process.send?.('ready');
