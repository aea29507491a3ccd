/**
 * The ticks of schedules by BullMQ's job schedulers. They only wake a worker: which ticks are due, and which were taken, is
 * decided by the ledger (docs/design.md section 11). So one that Redis loses is late, and one that comes twice starts
 * nothing.
 */
import type { Queue, RepeatOptions, Worker, WorkerOptions } from 'bullmq';
import { checkedData, ItemWorker, mostPayloadBytes, tickItemSchema } from './item-data.ts';
import type { NextTick, QueueHandlers, TickSchedule } from '../port.ts';

/** Marks the schedulers that are ours. */
const marker = 'schedule:';

/** A tick that was worked is of no use any more. */
const notKept = { removeOnComplete: true, removeOnFail: true, sizeLimit: mostPayloadBytes } as const;

/** In the place of BullMQ's own reading of a cron, which loses or doubles ticks when the clocks change. */
export function repeatBy(nextTick: NextTick) {
  return (afterMs: number, { pattern = '', tz = 'UTC' }: RepeatOptions): number | undefined =>
    nextTick({ cron: pattern, timeZone: tz }, afterMs);
}

/** Writes the schedulers that are missing or differ, and removes those of ours that are neither wanted nor of `others`. */
export async function keepTickSchedulers(
  queue: Queue,
  schedules: readonly TickSchedule[],
  others: readonly string[],
): Promise<void> {
  const left = new Set(others.map((name) => `${marker}${name}`));
  const wanted = new Map(schedules.map((schedule) => [`${marker}${schedule.name}`, schedule]));
  for (const { key, pattern, tz } of await queue.getJobSchedulers(0, -1, true)) {
    const same = wanted.get(key);
    // Writing it again would throw a tick away that is due and was not taken.
    if (same !== undefined && same.cron === pattern && same.timeZone === tz) wanted.delete(key);
    else if (same === undefined && key.startsWith(marker) && !left.has(key)) await queue.removeJobScheduler(key);
  }
  for (const [key, { name, cron, timeZone }] of wanted) {
    const template = { name: 'tick', data: { schedule: name }, opts: notKept };
    await queue.upsertJobScheduler(key, { pattern: cron, tz: timeZone }, template);
  }
}

/** The worker of ticks, in a process that works schedules. */
export function ticksWorkers({ ticks }: QueueHandlers, queue: string, options: WorkerOptions): readonly Worker[] {
  if (ticks === undefined) return [];
  const settings = { ...options.settings, repeatStrategy: repeatBy(ticks.next) };
  const worker = new ItemWorker<{ schedule: string }>(
    queue,
    async (job) => {
      const { schedule } = checkedData(job, tickItemSchema);
      await ticks.take(schedule, job.opts.prevMillis ?? Date.now());
    },
    { ...options, settings, maxStalledCount: Number.MAX_SAFE_INTEGER },
  );
  return [worker];
}
