/**
 * The order of reads (docs/decisions/0026-reads-have-an-order.md). `internal.read_begun` has a row for each read that may
 * still commit; one without a row is read again. `internal.kept_read` has what reads with higher numbers have committed
 * while such a read of another run was under way. So nothing rests on how long a read takes, or on a clock.
 */
import { always, type LaterRead } from '../../../core/daily/read-order.ts';
import type { ReadKind } from '../../../core/run/run.ts';
import type { Window } from '../../../core/time/window.ts';
import type { ReadOrder } from '../../port/runs.ts';
import {
  epochMs,
  type InSession,
  jsonText,
  oneRow,
  type SqlDatabase,
  type SqlSession,
  transacted,
} from '../session.ts';

export function createReadOrder(database: SqlDatabase): ReadOrder {
  return transacted<ReadOrder>(database, { begin: beginRead });
}

/** Of a worker that died; its run may never end. A read that takes longer is read again. */
const forgottenAfter = `INTERVAL '1 day'`;

const beginRead: InSession<ReadOrder['begin']> = async (session, { kind, runId, ended }) => {
  const { clock } = session.dialect;
  const isOver = `number IN (SELECT ${session.dialect.each('$1', 'BIGINT')}) OR begun_at < ${clock} - ${forgottenAfter}`;
  await forget(session, isOver, [jsonText(ended)]);
  const { number } = await oneRow<{ number: number }>(
    session,
    `INSERT INTO internal.read_begun (number, kind, run_id, begun_at)
       VALUES (nextval('internal.read_number'), $1, $2, ${clock}) RETURNING number`,
    [kind, runId],
  );
  return number;
};

/** The run has ended: none of its reads commits any more. */
export async function endReads(session: SqlSession, runId: string): Promise<void> {
  await forget(session, 'run_id = $1', [runId]);
}

/** What no read under way can be older than is not kept. A read that is begun meanwhile asks the service after this. */
async function forget(session: SqlSession, which: string, values: Parameters<SqlSession['run']>[1]): Promise<void> {
  const forgotten = await session.run(`DELETE FROM internal.read_begun WHERE ${which}`, values);
  if (forgotten === 0) return;
  await session.run(
    `DELETE FROM internal.kept_read WHERE NOT EXISTS (
       SELECT 1 FROM internal.read_begun b WHERE b.kind = kept_read.kind AND b.number < kept_read.committed_no)`,
  );
}

export interface OrderedBatch {
  readonly kind: ReadKind;
  readonly runId: string;
  /** Undefined for a read that counts as begun now. */
  readonly readNo: number | undefined;
  readonly targets: readonly string[];
  /** SQL of the instant of the last change; null without one. {@link targetsParameter} stands for the targets. */
  readonly lastChange: string;
}

export const targetsParameter = '$4';

/** Where a batch stands among other reads of its targets. */
export interface PositionInOrder {
  readonly readNo: number;
  /** What others have committed since this read was begun, by target. */
  readonly later: ReadonlyMap<string, readonly LaterRead[]>;
  /** Whether a read of another run that is under way may still commit. */
  readonly isAwaited: boolean;
  /** The instant of the changes: by the clock of the database, and not before that of the last change. */
  readonly atMs: number;
}

interface OrderRow extends Pick<PositionInOrder, 'isAwaited' | 'atMs'> {
  readonly number: number;
  readonly isBegun: boolean;
  readonly target: string | null;
  readonly isBegunLater: boolean | null;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Milliseconds since 1970, rounded up: two changes may lie within one. */
const nextMs = (instant: string): string =>
  epochMs(`date_trunc('milliseconds', ${instant} + INTERVAL '999 microseconds')`);

/** To be called once the targets are locked: of two reads of one target the second one sees what the first has kept. */
export async function positionInOrder(
  session: SqlSession,
  batch: OrderedBatch,
  atMs?: number,
): Promise<PositionInOrder> {
  const { kind, runId, readNo, targets, lastChange } = batch;
  const { dialect } = session;
  const instant = atMs === undefined ? dialect.clock : `CAST($5 AS TIMESTAMPTZ)`;
  const rows = await session.rows<OrderRow>(
    `WITH own AS MATERIALIZED (SELECT ${readNo === undefined ? `coalesce(CAST($1 AS BIGINT), nextval('internal.read_number'))` : 'CAST($1 AS BIGINT)'} AS number)
     SELECT own.number, EXISTS (SELECT 1 FROM internal.read_begun b WHERE b.number = own.number) AS "isBegun",
       EXISTS (SELECT 1 FROM internal.read_begun b WHERE b.kind = $2 AND b.run_id <> $3) AS "isAwaited",
       ${nextMs(`greatest(${instant}, ${lastChange})`)} AS "atMs", k.number > own.number AS "isBegunLater", k.target, ${epochMs('k.from_at')} AS "fromMs", ${epochMs('k.to_at')} AS "toMs"
     FROM own LEFT JOIN (
       SELECT * FROM internal.kept_read WHERE kind = $2 AND target IN (SELECT ${dialect.each(targetsParameter, 'VARCHAR')})) k
       ON k.committed_no > own.number`,
    [readNo ?? null, kind, runId, jsonText(targets), ...(atMs === undefined ? [] : [new Date(atMs)])],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('a batch has no place in the order of reads');
  const later = new Map<string, LaterRead[]>();
  const keep = (target: string, read: LaterRead): void => {
    later.set(target, [...(later.get(target) ?? []), read]);
  };
  for (const { target, isBegunLater, fromMs, toMs } of rows) {
    if (target === null) continue;
    keep(target, { fromMs: fromMs ?? always.fromMs, toMs: toMs ?? always.toMs, isBegunLater: isBegunLater === true });
  }
  const isForgotten = readNo !== undefined && !first.isBegun;
  for (const target of isForgotten ? targets : []) keep(target, { ...always, isBegunLater: true });
  return { readNo: first.number, later, isAwaited: first.isAwaited, atMs: first.atMs };
}

/** A part of a target that a read has ordered; the whole target without bounds. */
export interface KeptRead {
  readonly target: string;
  readonly window: Window;
}

const keptFields = { target: 'VARCHAR', from_at: 'VARCHAR', to_at: 'VARCHAR' } as const;

/** Keeps what the batch has ordered, in place of what earlier reads kept within it, if an earlier read may come. */
export async function keepReads(
  session: SqlSession,
  kind: ReadKind,
  { readNo, isAwaited }: Pick<PositionInOrder, 'readNo' | 'isAwaited'>,
  reads: readonly KeptRead[],
): Promise<void> {
  if (!isAwaited || reads.length === 0) return;
  const text = (ms: number): string | null => (Number.isFinite(ms) ? new Date(ms).toISOString() : null);
  const kept = jsonText(
    reads.map(({ target, window }) => ({ target, from_at: text(window.fromMs), to_at: text(window.toMs) })),
  );
  const relation = `(SELECT target, CAST(from_at AS TIMESTAMPTZ) AS from_at, CAST(to_at AS TIMESTAMPTZ) AS to_at
    FROM ${session.dialect.relation('$1', keptFields)} r)`;
  await session.run(
    `DELETE FROM internal.kept_read AS k USING ${relation} AS n
     WHERE k.kind = $2 AND k.target = n.target AND k.number < $3
       AND (n.from_at IS NULL OR k.from_at >= n.from_at) AND (n.to_at IS NULL OR k.to_at <= n.to_at)`,
    [kept, kind, readNo],
  );
  await session.run(
    `INSERT INTO internal.kept_read (kind, target, from_at, to_at, number, committed_no)
       SELECT CAST($2 AS VARCHAR), n.target, n.from_at, n.to_at, CAST($3 AS BIGINT), nextval('internal.read_number') FROM ${relation} n`,
    [kept, kind, readNo],
  );
}
