/**
 * Alerts of the state of the installation while the warehouse cannot be written: a small file of the data folder has them
 * until it can, and the receiver is told at once. Processes of a host share the file; of two that write it at one moment the
 * last one stays, and the other sees its own again at its next look.
 */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { mkdir, rm } from 'node:fs/promises';
import { z } from 'zod';
import type { FoundAlert, Observation } from '../../core/alerts/alert.ts';
import { alertKinds, type AlertKind, severities } from '../../core/alerts/kinds.ts';
import { shortened } from '../../core/base/text.ts';
import { readSmall, replace } from '../../files/durable-file.ts';
import type { AlertMessage } from '../../warehouse/port/alerts.ts';

/** More than an installation has parts. What is above is in the log alone. */
const mostKept = 100;
const mostSummaryChars = 300;

const schema = z.strictObject({
  id: z.string(),
  kind: z.enum(Object.keys(alertKinds) as [AlertKind, ...AlertKind[]]),
  targetKind: z.string(),
  target: z.string(),
  severity: z.enum(severities),
  cause: z.string(),
  summary: z.string(),
  detail: z.record(z.string(), z.unknown()),
  by: z.string(),
  atMs: z.number(),
  /** When the receiver was told that it opened. */
  sentAtMs: z.number().optional(),
  /** When it was seen no more. */
  endedAtMs: z.number().optional(),
  endSentAtMs: z.number().optional(),
});

/** One that opened, and may have ended, while it could not be written. Times are milliseconds since 1970. */
export type UnwrittenAlert = z.output<typeof schema>;

export class UnwrittenAlerts {
  readonly #file: string;
  /** What the file has, or would have if it could be written: its disk may be the one that is full. */
  #kept: readonly UnwrittenAlert[] = [];
  #isSaved = true;

  constructor(dataDir: string) {
    this.#file = path.join(dataDir, 'unwritten-alerts.json');
  }

  /** Also those of other processes of the host, and of one that died. A file that cannot be understood is none. */
  async read(): Promise<readonly UnwrittenAlert[]> {
    if (!this.#isSaved) return this.#kept;
    const text = await readSmall(this.#file).catch(() => undefined);
    this.#kept = text === undefined ? [] : understood(text);
    return this.#kept;
  }

  /** Adds what was found, and ends what was seen and not found. */
  async record(observations: readonly Observation[], by: string, atMs: number): Promise<void> {
    const kept = await this.read();
    const ended = kept.map((each) =>
      each.endedAtMs === undefined && observations.some((seen) => isGone(each, seen))
        ? { ...each, endedAtMs: atMs }
        : each,
    );
    const added = observations.flatMap((seen) =>
      seen.found
        .filter(({ target }) => !ended.some((each) => isOf(each, seen, target) && each.endedAtMs === undefined))
        .map((found) => alertOf(seen, found, { by, atMs, id: randomUUID() })),
    );
    await this.save([...ended, ...added.slice(0, Math.max(0, mostKept - ended.length))]);
  }

  async save(kept: readonly UnwrittenAlert[]): Promise<void> {
    if (JSON.stringify(kept) === JSON.stringify(this.#kept) && this.#isSaved) return;
    this.#kept = kept;
    try {
      if (kept.length === 0) await rm(this.#file, { force: true });
      else {
        await mkdir(path.dirname(this.#file), { recursive: true });
        await replace(this.#file, JSON.stringify(kept));
      }
      this.#isSaved = true;
    } catch {
      this.#isSaved = false;
    }
  }
}

function understood(text: string): readonly UnwrittenAlert[] {
  try {
    return z.array(schema).parse(JSON.parse(text));
  } catch {
    return [];
  }
}

function isOf(each: UnwrittenAlert, { kind, targetKind }: Observation, target: string): boolean {
  return each.kind === kind && each.targetKind === targetKind && each.target === target;
}

/** Whether it was seen, and is not found. */
export function isGone(each: UnwrittenAlert, seen: Observation): boolean {
  const isSeen = seen.observed === 'all' || seen.observed.includes(each.target);
  return isSeen && isOf(each, seen, each.target) && !seen.found.some(({ target }) => target === each.target);
}

function alertOf(
  { kind, targetKind }: Observation,
  { target, severity, cause, summary, detail }: FoundAlert,
  seen: Pick<UnwrittenAlert, 'by' | 'atMs' | 'id'>,
): UnwrittenAlert {
  return { ...seen, kind, targetKind, target, severity, cause, summary: shortened(summary, mostSummaryChars), detail };
}

/** The message that it opened, or has ended. */
export function messageOf(alert: UnwrittenAlert, change: 'opened' | 'resolved'): AlertMessage {
  const { id, kind, severity, summary, target, by, atMs, endedAtMs = atMs } = alert;
  const isEnd = change === 'resolved';
  const about = {
    change,
    kind,
    severity,
    job: null,
    summary,
    isOfAll: true,
    because: null,
    alerts: 1,
    targets: [target],
    ids: [],
    by,
  };
  return { ...about, id: isEnd ? `${id}-resolved` : id, atMs: isEnd ? endedAtMs : atMs };
}

/** What the warehouse is to be told of it: that it was found, and that it was found no more. */
export function observationsOfUnwritten(alert: UnwrittenAlert): {
  readonly opened: Observation;
  readonly ended: Observation;
} {
  const { kind, targetKind, target, severity, cause, summary, detail } = alert;
  const about = { kind, job: null, targetKind, observed: [target] };
  return {
    opened: { ...about, found: [{ target, severity, cause, summary, detail, size: 1 }] },
    ended: { ...about, found: [] },
  };
}
