/** Requests for restatements: converts the days of an operator, and yields a line for each restated field. */
import { z } from 'zod';
import { cursorOf, readCursor } from '../../core/base/lists.ts';
import { UsageError } from '../../core/base/errors.ts';
import { instantText } from '../../core/base/text.ts';
import { type RestatedVersion, type Restatement, restatementsOf } from '../../core/daily/row.ts';
import { namedInstant } from '../../core/time/production-day.ts';
import { DAY_MS } from '../../core/time/window.ts';
import type { RestatementPosition, RestatementQuestion } from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';
import { type InputNames, namesFor } from '../exports/target-input.ts';

export interface RestatementInput {
  /** A day of the zone or an ISO date-time: restatements noticed from then on. Omitted: the last {@link recentDays} days. */
  readonly since?: string | undefined;
  /** Exclusive. Omitted: now. */
  readonly until?: string | undefined;
  /** Omitted: all wells. */
  readonly uwis?: readonly string[] | undefined;
}

/** What is asked for where no time is named: no more than any warehouse keeps of its history (`retention.historyDays`). */
const recentDays = 7;

/** Throws UsageError for a text that is not a time, and for empty bounds. */
export function requestRestatements(
  { since, until, uwis }: RestatementInput,
  context: { readonly timeZone: string; readonly nowMs: number; readonly names?: InputNames<RestatementInput> },
): RestatementQuestion {
  const { timeZone, nowMs } = context;
  const names = namesFor(['since', 'until'], context.names);
  // Includes restatements noticed in the current millisecond.
  const untilMs = until === undefined ? nowMs + 1 : namedInstant(names.until, until, timeZone);
  const ofWells = uwis === undefined ? {} : { uwis };
  if (since === undefined) return { sinceMs: Math.min(nowMs, untilMs) - recentDays * DAY_MS, untilMs, ...ofWells };
  const sinceMs = namedInstant(names.since, since, timeZone);
  if (sinceMs >= untilMs) {
    throw new UsageError(
      `${names.since} ${since} is not before ${until === undefined ? 'now' : `${names.until} ${until}`}`,
      {
        hint:
          until === undefined
            ? `It is ${instantText(nowMs)} now.`
            : `${names.until} is the first day that is left out.`,
      },
    );
  }
  return { sinceMs, untilMs, ...ofWells };
}

/**
 * Calls `use` with a line for each restated field. Throws UsageError for a time before the history's horizon. The lines are valid during the call, and `use` must not call the
 * warehouse.
 */
export async function readRestatements<T>(
  app: Pick<App, 'warehouse' | 'ledger'>,
  question: RestatementQuestion,
  use: (lines: AsyncIterable<Restatement>) => Promise<T>,
): Promise<T> {
  await refuseForgotten(app, question);
  return app.warehouse.dailyProduction.restatements(question, (versions) => use(linesOf(versions)));
}

/** Throws UsageError for a time before the history's horizon. */
export async function refuseForgotten(
  { ledger }: Pick<App, 'ledger'>,
  { sinceMs }: Pick<RestatementQuestion, 'sinceMs'>,
): Promise<void> {
  const horizonMs = await ledger.retention.historyHorizonMs();
  if (horizonMs === undefined || sinceMs >= horizonMs) return;
  throw new UsageError(`the history begins at ${instantText(horizonMs)}: what changed before is no longer kept`, {
    hint: 'Ask for what changed since then (retention.historyDays sets how long the history is kept).',
  });
}

export interface RestatementPage {
  readonly restatements: readonly Restatement[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Versions of one record that ended within one instant have the same place, and stand on one page. */
const maxOfOnePosition = 100;

/**
 * The fields of some `rows` restated rows, in the order of their notice. Throws UsageError as {@link readRestatements}
 * does, and for a text that is no cursor.
 */
export async function pageOfRestatements(
  app: Pick<App, 'warehouse' | 'ledger'>,
  question: RestatementQuestion,
  { rows, cursor }: { readonly rows: number; readonly cursor?: string | undefined },
): Promise<RestatementPage> {
  await refuseForgotten(app, question);
  const bounds = {
    ...question,
    ...(cursor === undefined ? {} : { after: positionOf(cursor) }),
    limit: rows + maxOfOnePosition,
  };
  return app.warehouse.dailyProduction.restatements(bounds, async (versions) => {
    const taken: RestatedVersion[] = [];
    let last = '';
    for await (const version of versions) {
      const { noticedAt, uwi, old } = version;
      const position = cursorOf(noticedAt, uwi, old.day, old.xid);
      if (taken.length >= rows && position !== last) return pageOf(taken, last);
      taken.push(version);
      last = position;
    }
    return pageOf(taken, undefined);
  });
}

function pageOf(versions: readonly RestatedVersion[], cursor: string | undefined): RestatementPage {
  return { restatements: versions.flatMap(restatementsOf), cursor };
}

const restatementPosition = z.tuple([z.iso.datetime(), z.string(), z.iso.date(), z.guid()]);

function positionOf(cursor: string): RestatementPosition {
  const [noticedAt, uwi, day, xid] = readCursor(cursor, restatementPosition, { list: 'restatements' });
  return { noticedAt, uwi, day, xid };
}

async function* linesOf(versions: AsyncIterable<RestatedVersion>): AsyncGenerator<Restatement> {
  for await (const version of versions) yield* restatementsOf(version);
}
