/** A process that is stopped, as by Ctrl-Z or a suspended host: it lives, and does nothing. */
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { processTree } from './process-tree.ts';

/**
 * Stops a program with all of its processes at a moment when none of them has the file open: one that has keeps all others
 * from a DuckDB database. Resolves with what lets it go on.
 */
export async function stopWithoutFile(pid: number, file: string): Promise<() => void> {
  for (;;) {
    const processes = processTree(pid);
    for (const each of processes) process.kill(each, 'SIGSTOP');
    const goOn = (): void => {
      for (const each of processes) process.kill(each, 'SIGCONT');
    };
    if (!processes.some((each) => hasOpen(each, file))) return goOn;
    goOn();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function hasOpen(pid: number, file: string): boolean {
  const target = realpathSync(file);
  return readdirSync(`/proc/${pid}/fd`).some((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`) === target;
    } catch {
      return false;
    }
  });
}
