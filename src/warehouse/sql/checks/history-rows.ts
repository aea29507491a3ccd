/** `check_history`: what the checks need of a well's past, a row a well that has any. */
import { z } from 'zod';
import type { CheckHistory } from '../../../core/checks/history.ts';
import { jsonText, runOver, type SqlSession } from '../session.ts';

const stored = z.object({
  codes: z.record(z.string(), z.int()),
  codesKnownTo: z.int().optional(),
  /** Pairs of a day and 1 for a rate of the hours on. */
  partials: z.array(z.tuple([z.int(), z.int()])),
});

export async function readHistories(
  session: SqlSession,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, CheckHistory>> {
  const rows = await session.rows<{ uwi: string; history: string }>(
    `SELECT uwi, history FROM check_history WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
  );
  return new Map(rows.map(({ uwi, history }) => [uwi, historyOf(history)]));
}

function historyOf(text: string): CheckHistory {
  const { codes, codesKnownTo, partials } = stored.parse(JSON.parse(text));
  return {
    codes: new Map(Object.entries(codes)),
    codesKnownTo,
    partials: partials.map(([day, operated]) => ({ day, isOperated: operated === 1 })),
  };
}

function textOf({ codes, codesKnownTo, partials }: CheckHistory): string {
  const pairs = partials.map(({ day, isOperated }) => [day, isOperated ? 1 : 0] as const);
  return JSON.stringify({ codes: Object.fromEntries(codes), codesKnownTo, partials: pairs });
}

export async function keepHistories(
  session: SqlSession,
  histories: ReadonlyArray<{ readonly uwi: string; readonly history: CheckHistory }>,
): Promise<void> {
  const rows = histories.map(({ uwi, history }) => ({ uwi, history: session.dialect.stored(textOf(history)) }));
  await runOver(
    session,
    rows,
    `INSERT INTO check_history (uwi, history)
       SELECT uwi, history FROM ${session.dialect.relation('$1', { uwi: 'VARCHAR', history: 'VARCHAR' })} h ORDER BY uwi
     ON CONFLICT (uwi) DO UPDATE SET history = excluded.history`,
  );
}
