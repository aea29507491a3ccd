/** What processes and the machine spent, from /proc and from Redis. Linux alone has these files. */
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { processTree } from '../../test/support/process-tree.ts';

/** Clock ticks per second of the times in /proc, on every Linux. */
const ticksASecond = 100;

/** CPU seconds until now. */
export interface Spent {
  readonly atMs: number;
  /** Of processes that this one started, directly or not, and that ended and were waited for. */
  readonly endedChildren: number;
  readonly redis: number;
  /** Of the benchmark with everything that belongs to it: its processes, the services that it serves, and Redis. */
  readonly own: number;
  /** Of the whole machine. */
  readonly machine: number;
}

export async function spentUntilNow(redisUrl: string | undefined): Promise<Spent> {
  const redis = redisUrl === undefined ? 0 : await redisSeconds(redisUrl);
  return {
    atMs: performance.now(),
    endedChildren: timesOf(process.pid).ended,
    redis,
    own: redis + treeSeconds(process.pid),
    machine: machineSeconds(),
  };
}

/** Cores that others kept busy between two looks. */
export function otherLoad(before: Spent, after: Spent): number {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const others = after.machine - before.machine - (after.own - before.own);
  return Math.max(0, others / seconds);
}

/** CPU seconds of a process with all that it started, those that ended and were waited for among them. */
export function treeSeconds(pid: number): number {
  return processTree(pid)
    .map(timesOf)
    .reduce((sum, { self, ended }) => sum + self + ended, 0);
}

async function redisSeconds(url: string): Promise<number> {
  const redis = new Redis(url);
  try {
    const info = await redis.info('cpu');
    const secondsOf = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
    return secondsOf('used_cpu_sys') + secondsOf('used_cpu_user');
  } finally {
    redis.disconnect();
  }
}

/** CPU seconds of a process and of its children that ended; zero for a process that is gone. */
function timesOf(pid: number): { readonly self: number; readonly ended: number } {
  // The name of the program, in brackets, may hold spaces.
  const fields = textOf(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  const seconds = (field: number): number => Number(fields[field] ?? 0) / ticksASecond;
  return { self: seconds(11) + seconds(12), ended: seconds(13) + seconds(14) };
}

function machineSeconds(): number {
  const [line = ''] = textOf('/proc/stat').split('\n');
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + interrupts + softInterrupts) / ticksASecond;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
