/**
 * Loaded before the program in a process with memory limits (limited-process.ts), so that the process never works without its
 * parent (G7): nothing else would stop it. It ends at once if the parent has ended already.
 */
import './heap-flags.ts';
import { isMainThread } from 'node:worker_threads';
import { parentPipe, parentVariable } from './limited-process.ts';
import { listenToParent } from './stop-signals.ts';

// A thread of the process loads the module again, and leaves the pipe to the first one.
if (isMainThread) {
  if (process.env[parentVariable] !== String(process.ppid)) process.kill(process.pid, 'SIGKILL');
  delete process.env[parentVariable];
  listenToParent(parentPipe);
}
