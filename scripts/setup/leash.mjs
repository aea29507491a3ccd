/**
 * Child processes that cannot outlive this one. A small shell holds the other end of a pipe and starts the child. When
 * this process ends in any way, SIGKILL included, the pipe closes and the shell sends the child SIGTERM. Then it ends the
 * processes that the child started and left behind, such as test workers.
 *
 * The child has a session of its own: Ctrl-C at the terminal reaches only this process, which decides what to forward.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

// File descriptor 3 is the pipe: it carries the child's pid out and signals the end of this process in. The shell
// closes its own stderr after the start, since some shells report a child that a signal ended.
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
 * @property {number} [uid] the user and the group that the child runs as; this process's own by default
 * @property {string} [cwd]
 *
 * @typedef {object} Leashed
 * @property {Promise<number>} pid of the child itself
 * @property {Promise<number>} exited its exit code, or 128 plus the number of the signal that ended it
 * @property {import('node:stream').Readable | null} stdout
 * @property {(signal: NodeJS.Signals) => Promise<void>} send does nothing once the child has ended
 * @property {() => Promise<number>} end sends SIGTERM and resolves when the child is gone
 */

/**
 * Starts a child without standard input; it inherits standard error.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {LeashedOptions} [options]
 * @returns {Leashed}
 */
export function startLeashed(command, args, { env = process.env, stdout = 'inherit', uid, cwd } = {}) {
  const shell = spawn('sh', ['-c', holdLeash, 'leash', command, ...args], {
    detached: true,
    env,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    ...(cwd === undefined ? {} : { cwd }),
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
      // The child has already ended.
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
 * Runs a command to its end, and forwards SIGINT and SIGTERM to it.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {LeashedOptions} [options]
 * @returns {Promise<number>} its exit code; 130 or 143 if this process received a signal meanwhile
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
