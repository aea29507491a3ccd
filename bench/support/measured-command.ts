/** Runs a program as a user does, and measures it from its start to its end with all its processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { peakMegabytes } from '../../test/support/process-tree.ts';
import type { Sample } from '../report/measurement.ts';
import { otherLoad, spentUntilNow } from './machine.ts';

/** The built program: its executable, which bounds its memory. */
export const wellsync = path.resolve('dist/src/cli/main.js');

/** How often the memory of the processes is looked at. Their high-water marks are the kernel's own. */
const lookMs = 50;

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes that are no failure; 0 by default. */
  readonly goodCodes?: readonly number[];
  /** The Redis that the program uses, and that no other uses meanwhile. */
  readonly redisUrl?: string;
}

export interface CommandRun extends Omit<Sample, 'amount'> {
  readonly stdout: string;
  readonly peakMegabytes: number;
}

/** Throws with what the program wrote to standard error if it ends with another exit code than a good one. */
export async function runMeasured({ program, args, env, goodCodes = [0], redisUrl }: Command): Promise<CommandRun> {
  const before = await spentUntilNow(redisUrl);
  const beganMs = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, peakMegabytes(child.pid ?? 0))), lookMs);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const seconds = (performance.now() - beganMs) / 1_000;
  clearInterval(timer);
  if (!goodCodes.includes(child.exitCode ?? -1)) {
    const words = [program, ...args].join(' ');
    throw new Error(`${words} ended with ${child.exitCode ?? child.signalCode}:\n${stdout}${stderr}`);
  }
  const after = await spentUntilNow(redisUrl);
  const cpuSeconds = after.endedChildren - before.endedChildren + after.redis - before.redis;
  return { seconds, cpuSeconds, peakMegabytes: peak, otherLoad: otherLoad(before, after), stdout };
}

/** A bare loop: a program of bench/support in a process of its own, which prints what it did as JSON. */
export function runBare(name: string, args: readonly string[]): Promise<CommandRun> {
  const file = fileURLToPath(new URL(`./${name}${path.extname(import.meta.url)}`, import.meta.url));
  return runMeasured({ program: process.execPath, args: [...process.execArgv, file, ...args] });
}
