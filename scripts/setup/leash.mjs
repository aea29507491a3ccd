/**
 * Owns child processes that cannot outlive this one. A small shell holds the other end of a pipe and starts the child;
 * when the pipe closes, because this process ended in whatever way, SIGKILL included, it sends the child SIGTERM. What
 * the child started and left behind (test workers, say) is ended after it.
 *
 * The child has a session of its own: Ctrl-C at the terminal reaches this process alone, which decides what to hand on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

// File descriptor 3 is the pipe: the child's pid goes out on it, its end comes in on it. The shell's own stderr is
// closed after the start, since some shells report a child that was ended by a signal.
const holdLeash = `
"$@" 3>&- &
child=$!
exec 2>/dev/null
echo $child >&3
{ read -r end <&3; kill $child; } &
wait $child
code=$?
trap '' TERM
kill -TERM 0
exit $code
`;

/**
 * @typedef {object} LeashedOptions
 * @property {NodeJS.ProcessEnv} [env] the whole environment; this process's own by default
 * @property {'inherit' | 'pipe'} [stdout]
 *
 * @typedef {object} Leashed
 * @property {Promise<number>} pid of the child itself
 * @property {Promise<number>} exited its exit code; 128 and the signal's number where a signal ended it
 * @property {import('node:stream').Readable | null} stdout
 * @property {(signal: NodeJS.Signals) => Promise<void>} send does nothing once the child has ended
 * @property {() => Promise<number>} end sends SIGTERM and resolves when the child is gone
 */

/**
 * Starts a child; it reads nothing from standard input, and writes its errors where this process does.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {LeashedOptions} [options]
 * @returns {Leashed}
 */
export function startLeashed(command, args, { env = process.env, stdout = 'inherit' } = {}) {
  const shell = spawn('sh', ['-c', holdLeash, 'leash', command, ...args], {
    detached: true,
    env,
    stdio: ['ignore', stdout, 'inherit', 'pipe'],
  });
  const pipe = /** @type {import('node:net').Socket} */ (shell.stdio[3]);
  // The shell may be gone before this end is closed.
  pipe.on('error', () => {});
  const pid = once(pipe, 'data').then(([data]) => Number(String(data)));
  const exited = once(shell, 'exit').then(([code]) => Number(code ?? 1));
  const send = async (/** @type {NodeJS.Signals} */ signal) => {
    const target = await pid;
    try {
      process.kill(target, signal);
    } catch {
      // It ended by itself.
    }
  };
  const end = () => {
    pipe.destroy();
    return exited;
  };
  return { pid, exited, stdout: shell.stdout, send, end };
}

const signalCodes = Object.freeze({ SIGINT: 130, SIGTERM: 143 });

/**
 * Runs a command to its end, and hands SIGINT and SIGTERM on to it.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {LeashedOptions} [options]
 * @returns {Promise<number>} its exit code; 130 or 143 where this process was told to stop meanwhile
 */
export async function runLeashed(command, args, options) {
  const child = startLeashed(command, args, options);
  /** @type {keyof typeof signalCodes | undefined} */
  let received;
  const handOn = (/** @type {keyof typeof signalCodes} */ signal) => {
    received = signal;
    void child.send(signal);
  };
  process.on('SIGINT', handOn).on('SIGTERM', handOn);
  try {
    const code = await child.exited;
    return received === undefined ? code : signalCodes[received];
  } finally {
    process.off('SIGINT', handOn).off('SIGTERM', handOn);
  }
}
