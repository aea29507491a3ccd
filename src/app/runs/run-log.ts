/**
 * Copies the lines of the log that name a run to Redis, where a page of the run finds them whichever process wrote them.
 * The log itself does not wait for it.
 */
import { outagePartOf } from '../../core/base/errors.ts';
import type { RunLogStore } from '../../queue/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { App } from '../app.ts';

const everyMs = 1_000;

/** More of a second are dropped: the log has them. */
const mostWaiting = 500;

/** Longer lines are left out. */
const mostLength = 4_000;

const waiting: { readonly runId: string; readonly line: string }[] = [];
let isCopying = false;

/** Called with each line of the log, its secrets hidden. */
export function recordLogLine(line: string): void {
  if (!isCopying || waiting.length >= mostWaiting || line.length > mostLength) return;
  const [, runId] = /"runId":"([\w-]{1,60})"/.exec(line) ?? [];
  if (runId !== undefined) waiting.push({ runId, line: line.trimEnd() });
}

/** Until the signal aborts; then what waits is copied once more. */
export async function keepRunLog(store: RunLogStore, signal: AbortSignal): Promise<void> {
  isCopying = true;
  try {
    while (!signal.aborted) {
      await sleep(everyMs, { signal, ref: false }).catch(() => undefined);
      // Redis is away: these lines are in the log alone.
      await copyWaiting(store).catch(() => undefined);
    }
  } finally {
    isCopying = false;
  }
}

async function copyWaiting(store: RunLogStore): Promise<void> {
  const byRun = new Map<string, string[]>();
  for (const { runId, line } of waiting.splice(0)) byRun.set(runId, [...(byRun.get(runId) ?? []), line]);
  for (const [runId, lines] of byRun) await store.append(runId, lines);
}

/** A line as a display takes it. */
export interface RunLogLine {
  /** ISO 8601. */
  readonly at: string;
  readonly level: string;
  readonly message: string;
  /** What it is about: its other fields, by name. */
  readonly about: Readonly<Record<string, string>>;
}

/** The latest last; none while Redis is away. Throws UnreachableError for a warehouse that is. */
export async function readRunLog(app: App, runId: string): Promise<readonly RunLogLine[]> {
  try {
    const lines = await (await app.queue('prompt')).runLog.read(runId);
    return lines.flatMap(lineOf);
  } catch (error) {
    if (outagePartOf(error) === 'warehouse') throw error;
    return [];
  }
}

const usualFields = new Set(['time', 'level', 'msg', 'pid', 'runId', 'job']);

function lineOf(text: string): readonly RunLogLine[] {
  const fields = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const { time, level, msg } = fields;
  const about = Object.entries(fields).flatMap(([name, value]) => {
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return isPlain && !usualFields.has(name) ? [[name, String(value)] as const] : [];
  });
  return [{ at: String(time), level: String(level), message: String(msg), about: Object.fromEntries(about) }];
}
