/**
 * The id of a process that may work a warehouse without Redis. It names the running system too: whether a process has ended,
 * only the system that ran it knows. A shared disk shows its socket to others, whose systems refuse it from the first.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Linux gives each start of a kernel an id, and all of its containers have the same one. */
function systemName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return hostname();
  }
}

let systemId: string | undefined;

function ofThisSystem(): string {
  systemId ??= createHash('sha256').update(`${process.platform} ${systemName()}`).digest('hex').slice(0, 8);
  return systemId;
}

/** Random; no two processes have the same one. */
export function newProcessId(): string {
  return `${randomUUID()}@${ofThisSystem()}`;
}

/** Whether the process of an id runs, or ran, on this system since its last start. */
export function isOfThisSystem(processId: string): boolean {
  return processId.endsWith(`@${ofThisSystem()}`);
}
