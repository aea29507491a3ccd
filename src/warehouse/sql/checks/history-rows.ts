/** `check_history`: what the checks need of a well's past, a row a well that has any. */
import { z } from 'zod';
import { type CheckHistory, noHistory } from '../../../core/checks/history.ts';
import { jsonText, runOver, type SqlColumns, type SqlSession } from '../session.ts';

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

/** Writes those that are not as they stand. */
export async function keepHistories(
  session: SqlSession,
  histories: ReadonlyArray<{ readonly uwi: string; readonly history: CheckHistory }>,
  standing: ReadonlyMap<string, CheckHistory>,
): Promise<void> {
  const { dialect } = session;
  const rows = histories
    .filter(({ uwi, history }) => history !== (standing.get(uwi) ?? noHistory))
    .map(({ uwi, history }) => ({ uwi, history: dialect.stored(textOf(history)) }));
  const added = rows.filter(({ uwi }) => !standing.has(uwi));
  if (added.length > 0) await session.append('check_history', columns, added);
  await runOver(
    session,
    rows.filter(({ uwi }) => standing.has(uwi)),
    `UPDATE check_history AS c SET history = h.history
     FROM ${dialect.relation('$1', { uwi: 'VARCHAR', history: 'VARCHAR' })} h WHERE c.uwi = h.uwi`,
  );
}

const columns: SqlColumns<{ readonly uwi: string; readonly history: string }> = {
  uwi: ({ uwi }) => uwi,
  history: ({ history }) => history,
};
