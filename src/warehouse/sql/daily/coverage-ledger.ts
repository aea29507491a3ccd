/**
 * The coverage ledger: the days of verified reads, as the fewest merged intervals a well. Written by merges alone, of which
 * one at a time works on a well.
 */
import { grouped } from '../../../core/base/lists.ts';
import { type DayInterval, mergeDays } from '../../../core/daily/coverage.ts';
import type { ByUwi } from '../../port/daily-production.ts';
import { dayOfNumber, jsonText, numberOfDay, runOver, type SqlSession } from '../session.ts';

export interface ReadDays {
  readonly uwi: string;
  readonly days: DayInterval;
  /** Whether the ledger may have days of the well. */
  readonly isKnown: boolean;
}

interface StoredInterval extends DayInterval {
  /** As the engine has it. */
  readonly rowId: number | string;
}

interface LedgerChanges {
  readonly inserted: Array<DayInterval & { readonly uwi: string }>;
  readonly changed: StoredInterval[];
  readonly removed: StoredInterval['rowId'][];
}

/** Adds the days to those of their wells, in the transaction of the merge. */
export async function recordRead(session: SqlSession, read: readonly ReadDays[]): Promise<void> {
  const known = new Set(read.flatMap(({ uwi, isKnown }) => (isKnown ? [uwi] : [])));
  const stored = await readStored(session, [...known]);
  const changes: LedgerChanges = { inserted: [], changed: [], removed: [] };
  for (const [uwi, sameWell] of grouped(read, (each) => each.uwi)) {
    const days = sameWell.map((each) => each.days);
    addChanges(changes, uwi, stored.get(uwi) ?? [], days);
  }
  await writeChanges(session, changes);
}

async function readStored(session: SqlSession, uwis: readonly string[]): Promise<ByUwi<readonly StoredInterval[]>> {
  if (uwis.length === 0) return new Map();
  const rows = await session.rows<StoredInterval & { readonly uwi: string }>(
    `SELECT ${session.dialect.rowId} AS "rowId", uwi, ${numberOfDay('from_day')} AS "fromDay", ${numberOfDay('to_day')} AS "toDay"
     FROM coverage WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
  );
  return grouped(rows, ({ uwi }) => uwi);
}

/** Lets each merged interval take the place of a stored one that it contains, if there is one. */
function addChanges(
  { inserted, changed, removed }: LedgerChanges,
  uwi: string,
  stored: readonly StoredInterval[],
  read: readonly DayInterval[],
): void {
  for (const { fromDay, toDay } of mergeDays([...stored, ...read])) {
    const [first, ...others] = stored.filter((each) => each.fromDay >= fromDay && each.toDay <= toDay);
    removed.push(...others.map(({ rowId }) => rowId));
    if (first === undefined) inserted.push({ uwi, fromDay, toDay });
    else if (first.fromDay !== fromDay || first.toDay !== toDay) changed.push({ rowId: first.rowId, fromDay, toDay });
  }
}

const intervalFields = { fromDay: 'INTEGER', toDay: 'INTEGER' } as const;
const interval = `${dayOfNumber('"fromDay"')} AS from_day, ${dayOfNumber('"toDay"')} AS to_day`;

async function writeChanges(session: SqlSession, { inserted, changed, removed }: LedgerChanges): Promise<void> {
  const { dialect } = session;
  const { rowId, rowIdType } = dialect;
  await runOver(session, removed, `DELETE FROM coverage WHERE ${rowId} IN (SELECT ${dialect.each('$1', rowIdType)})`);
  await runOver(
    session,
    changed,
    `UPDATE coverage SET from_day = c.from_day, to_day = c.to_day
     FROM (SELECT "rowId", ${interval} FROM ${dialect.relation('$1', { rowId: rowIdType, ...intervalFields })} r) c
     WHERE coverage.${rowId} = c."rowId"`,
  );
  const added = dialect.relation('$1', { uwi: 'VARCHAR', ...intervalFields });
  await runOver(session, inserted, `INSERT INTO coverage SELECT uwi, ${interval} FROM ${added} r`);
}
