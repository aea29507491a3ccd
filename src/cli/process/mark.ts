/**
 * Marks a process that runs with memory limits (limited-process.ts): an argument of node names a module to load before
 * the program, and the pid of the parent. Unlike an environment variable, it reaches no further process.
 */
import path from 'node:path';

/** File descriptor of the pipe from the parent. */
export const parentPipe = 3;

const marked = /^--import=.*\/parent-watch\.[jt]s\?parent=(?<pid>\d+)$/;

/** The argument of node that marks a child of the process `pid`. */
export function markOf(pid: number): string {
  const module = new URL(`parent-watch${path.extname(import.meta.url)}`, import.meta.url);
  return `--import=${module.href}?parent=${pid}`;
}

/** The pid of the parent that started this process with memory limits; undefined if none did. */
export function markedParent(): number | undefined {
  for (const argument of process.execArgv) {
    const pid = marked.exec(argument)?.groups?.['pid'];
    if (pid !== undefined) return Number(pid);
  }
  return undefined;
}
