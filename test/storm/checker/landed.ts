/**
 * What a read must have stored (G2, G3): each record of its window that the service had unchanged from the request of the run
 * to its end is a row when the run ends. The whole read of the quiet time would repair what an earlier one lost.
 */
import type { Evidence, TableRow, Violation } from '../evidence.ts';
import { dailyUnits, type Ledger } from './ledger.ts';
import { differencesOf, type GoodRecord, judgeRecord } from './record.ts';
import type { CheckRules } from './rules.ts';
import { dayMs, groupedBy, microsOf, rowsOf, textOf, violated } from './tables.ts';

/** A good record as the service had it from one time to another. */
interface Standing {
  readonly fromMs: number;
  readonly toMs: number;
  readonly record: GoodRecord;
}

/** A row from one time to another, in milliseconds. */
interface Stored {
  readonly row: TableRow;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Landed {
  readonly violations: readonly Violation[];
  /** Pairs of a record and a read that were asked. */
  readonly records: number;
}

export function checkLanded(evidence: Evidence, ledger: Ledger, { clockSlackMs }: CheckRules): Landed {
  const standing = standingByWell(evidence);
  const stored = storedByRecord(evidence);
  let records = 0;
  const violations = dailyUnits(ledger).flatMap(({ run, target, state, spec }) => {
    const { finishedMs } = run;
    if (finishedMs === undefined || (state !== 'done' && state !== 'held')) return [];
    const fromMs = Number(spec['fromMs']) + dayMs;
    const toMs = Number(spec['toMs']) - dayMs;
    const due = (standing.get(target) ?? []).filter(({ record: { dateMs }, ...stood }) => {
      const isConstant = stood.fromMs <= run.requestedMs - clockSlackMs && stood.toMs >= finishedMs + clockSlackMs;
      return isConstant && dateMs >= fromMs && dateMs < toMs;
    });
    records += due.length;
    const lost = due.filter(({ record }) => {
      const versions = stored.get(keyOf(target, record.xid)) ?? [];
      const atEnd = versions.filter(
        (each) => each.fromMs <= finishedMs + clockSlackMs && each.toMs >= finishedMs - clockSlackMs,
      );
      return !atEnd.some(({ row }) => differencesOf(row, record).length === 0);
    });
    if (lost.length === 0) return [];
    const what = `${lost.length} of ${due.length} records that run ${run.id} must have read of ${target} were no rows at its end`;
    return [
      violated('G3', what, { runId: run.id, atMs: finishedMs, xids: lost.slice(0, 5).map(({ record }) => record.xid) }),
    ];
  });
  return { violations, records };
}

function keyOf(uwi: string, xid: string): string {
  return `${uwi} ${xid.toLowerCase()}`;
}

function standingByWell({ service, endedMs }: Evidence): ReadonlyMap<string, readonly Standing[]> {
  const byRecord = groupedBy(service.mutations, ({ uwi, xid }) => keyOf(uwi, xid));
  const found = [...byRecord.values()].flatMap((mutations) =>
    mutations.flatMap(({ atMs, body, uwi }, index) => {
      const record = body === null ? undefined : judgeRecord(body, endedMs).good;
      const toMs = mutations[index + 1]?.atMs ?? Infinity;
      return record === undefined ? [] : [{ uwi, fromMs: atMs, toMs, record }];
    }),
  );
  return groupedBy(found, ({ uwi }) => uwi);
}

function storedByRecord(evidence: Evidence): ReadonlyMap<string, readonly Stored[]> {
  const versions = [
    ...rowsOf(evidence, 'daily_production').map((row): Stored => {
      return { row, fromMs: (microsOf(row, 'changed_at') ?? 0) / 1_000, toMs: Infinity };
    }),
    ...rowsOf(evidence, 'daily_production_history').map((row): Stored => {
      const [fromMicros, toMicros] = [microsOf(row, 'known_from') ?? 0, microsOf(row, 'noticed_at') ?? 0];
      return { row, fromMs: fromMicros / 1_000, toMs: toMicros / 1_000 };
    }),
  ];
  return groupedBy(versions, ({ row }) => keyOf(textOf(row, 'uwi'), textOf(row, 'xid')));
}
