/**
 * A file beside the warehouse, `PATH.waiting`, which tells the process that holds the warehouse that another one waits for
 * it. Who waits makes it, again before each attempt; who opens the warehouse removes it, so one that is found later is of a
 * process that came later. Where the folder cannot be written to there is none, and a wait lasts longer.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';

function signOf(path: string): string {
  return `${path}.waiting`;
}

export function isWaitedFor(path: string): boolean {
  return existsSync(signOf(path));
}

export function raiseSign(path: string): void {
  try {
    if (!isWaitedFor(path)) writeFileSync(signOf(path), '');
  } catch {
    // The holder releases the file without it, later.
  }
}

export function removeSign(path: string): void {
  try {
    rmSync(signOf(path), { force: true });
  } catch {
    // It belongs to somebody else: the holder releases the file more often than it has to.
  }
}
