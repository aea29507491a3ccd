/** The processes of a program, from /proc. */
import { readFileSync } from 'node:fs';

/** The process and its current descendants, the youngest generation first; empty if it is gone. */
export function processTree(pid: number): readonly number[] {
  const children = textOf(`/proc/${pid}/task/${pid}/children`)?.trim();
  if (children === undefined) return [];
  const below = children === '' ? [] : children.split(' ').flatMap((child) => processTree(Number(child)));
  return [...below, pid];
}

/** A zombie counts as gone. */
export function isAlive(pid: number): boolean {
  const status = textOf(`/proc/${pid}/status`);
  return status !== undefined && !/^State:\s+Z/m.test(status);
}

/** The sum of the peak memory of each process of the tree, which need not have been at one time. */
export function peakMegabytes(pid: number): number {
  const peaks = processTree(pid).map((each) =>
    Number(/VmHWM:\s+(\d+)/.exec(textOf(`/proc/${each}/status`) ?? '')?.[1] ?? 0),
  );
  return peaks.reduce((sum, kilobytes) => sum + kilobytes, 0) / 1024;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
