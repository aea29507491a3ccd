/** Tells files apart by what they are, not by their names. */
import { statSync } from 'node:fs';

/** Tells a file from another one in its place; undefined if there is none. */
export function fileAt(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/** Whether two paths lead to one file that exists, through links as well. */
export function isSameFile(path: string, other: string): boolean {
  const file = fileAt(path);
  return file !== undefined && file === fileAt(other);
}
