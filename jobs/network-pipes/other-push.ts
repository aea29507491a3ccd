/**
 * A push whose content another run pushes, or has pushed (docs/design.md section 4.3): it waits, or takes that run's
 * outcome.
 */
import { BlockedError } from '../../src/core/base/errors.ts';
import { counted } from '../../src/core/base/text.ts';
import type { Counts, RunReport, UnitOutcome } from '../../src/core/run/run.ts';
import { networkPipes } from './checkpoint-writer.ts';

/** The pause after which a new push is checked again; one that has run for an hour is checked rarely. */
const shortestPollMs = 500;
const longestPollMs = 15_000;

/** The pause before a claim is checked again: a quarter of its age, within bounds. */
export function blockedBy(runId: string, claimedAtMs: number, nowMs: number): BlockedError {
  const delayMs = Math.min(longestPollMs, Math.max(shortestPollMs, (nowMs - claimedAtMs) / 4));
  return new BlockedError('push-under-way', `run ${runId} is pushing this content`, Math.round(delayMs));
}

/**
 * Every count of a push as zero, so that the counts of an earlier attempt do not remain beside those of the other run.
 */
const noCounts: Counts = Object.fromEntries(
  [...networkPipes.counts.map(({ name }) => name), 'chunks', 'requests'].map((name) => [name, 0]),
);

/**
 * The outcome of a push that another run completed: the rows and notices of that run, and its id. Chunks and requests
 * are those of this run: `sent` has the counts of its own checkpoint, undefined if it never began to push.
 */
export function outcomeOfOther(
  { runId, counts, notices }: Pick<RunReport, 'runId' | 'counts' | 'notices'>,
  names: { readonly own: string; readonly other: string },
  sent: Counts | undefined,
): UnitOutcome {
  const ofContent = notices.filter((notice) => notice !== fileNotice(names.other));
  return {
    unit: 0,
    state: 'done',
    counts: { ...noCounts, ...counts, chunks: sent?.['chunks'] ?? 0, requests: sent?.['requests'] ?? 0 },
    notices: [fileNotice(names.own), `run ${runId} pushed this content: ${sentText(sent)}`, ...ofContent],
  };
}

function sentText(sent: Counts | undefined): string {
  if (sent === undefined) return 'this run sent nothing';
  const requests = sent['requests'] ?? 0;
  // A worker that was killed before its first checkpoint may have sent something.
  if (requests === 0) return 'this run had begun before, and recorded no request';
  return `this run had sent ${counted(requests, 'request')} before`;
}

export function fileNotice(name: string): string {
  return `file: ${name}`;
}
