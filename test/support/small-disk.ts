/** A small disk of its own (tmpfs) that a test can fill and empty. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface SmallDisk extends Disposable {
  readonly folder: string;
  /** Leaves no room for another byte. */
  fill(): void;
  /** Makes room again. */
  empty(): void;
  /** Takes no change any more, not even of root. */
  protect(): void;
}

function mounted(megabytes: number): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'wellsync-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  return folder;
}

function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
  rmSync(folder, { recursive: true, force: true });
}

/** The reason why no small disk can be made on this machine; undefined if one can. */
export function smallDiskLack(): string | undefined {
  try {
    unmount(mounted(1));
    return undefined;
  } catch {
    return 'this user may not mount a tmpfs';
  }
}

export function smallDisk(megabytes: number): SmallDisk {
  const folder = mounted(megabytes);
  const ballast = path.join(folder, 'ballast');
  return {
    folder,
    fill() {
      for (let left = free(folder); left > 0; left = free(folder)) {
        try {
          writeFileSync(ballast, Buffer.alloc(left), { flag: 'a' });
        } catch (error) {
          // Another process took the last of it first.
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    },
    empty: () => rmSync(ballast, { force: true }),
    protect: () => void execFileSync('mount', ['-o', 'remount,ro', folder], { stdio: 'pipe' }),
    [Symbol.dispose]: () => unmount(folder),
  };
}

function free(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
