/** Requests for restatements: converts the days of an operator, and yields a line for each restated field. */
import { UsageError } from '../../core/base/errors.ts';
import { instantText } from '../../core/base/text.ts';
import { type RestatedVersion, type Restatement, restatementsOf } from '../../core/daily/restatement.ts';
import type { RestatementQuestion } from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';
import { namedInstant } from './backfill-bounds.ts';
import { type InputNames, namesFor } from './input-names.ts';

export interface RestatementInput {
  /** A day of the zone or an ISO date-time: restatements noticed from then on. */
  readonly since: string;
  /** Exclusive. Omitted: now. */
  readonly until?: string | undefined;
  /** Omitted: all wells. */
  readonly uwis?: readonly string[] | undefined;
}

/** Throws UsageError for a text that is not a time, and for empty bounds. */
export function requestRestatements(
  { since, until, uwis }: RestatementInput,
  context: { readonly timeZone: string; readonly nowMs: number; readonly names?: InputNames<RestatementInput> },
): RestatementQuestion {
  const { timeZone, nowMs } = context;
  const names = namesFor(['since', 'until'], context.names);
  const sinceMs = namedInstant(names.since, since, timeZone);
  // Includes restatements noticed in the current millisecond.
  const untilMs = until === undefined ? nowMs + 1 : namedInstant(names.until, until, timeZone);
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
  return { sinceMs, untilMs, ...(uwis === undefined ? {} : { uwis }) };
}

/**
 * Calls `use` with a line for each restated field. Throws UsageError for a time before the history's horizon. The lines are valid during the call, and `use` must not call the
 * warehouse.
 */
export async function readRestatements<T>(
  { warehouse: { dailyProduction }, ledger }: Pick<App, 'warehouse' | 'ledger'>,
  question: RestatementQuestion,
  use: (lines: AsyncIterable<Restatement>) => Promise<T>,
): Promise<T> {
  const horizonMs = await ledger.retention.historyHorizonMs();
  if (horizonMs !== undefined && question.sinceMs < horizonMs) {
    throw new UsageError(`the history begins at ${instantText(horizonMs)}: what changed before is no longer kept`, {
      hint: 'Ask for what changed since then (retention.historyDays sets how long the history is kept).',
    });
  }
  return dailyProduction.restatements(question, (versions) => use(linesOf(versions)));
}

async function* linesOf(versions: AsyncIterable<RestatedVersion>): AsyncGenerator<Restatement> {
  for await (const version of versions) yield* restatementsOf(version);
}
