/** Readings and runs for tests of the warehouse, and queries for their results. */
import type { RunObservations } from '../../src/core/alerts/run-observations.ts';
import type { Fault } from '../../src/core/base/errors.ts';
import { measureFields, type Measure, type QuarantinedRecord } from '../../src/core/daily/row.ts';
import { wholeDays } from '../../src/core/daily/coverage.ts';
import type { WindowBatch } from '../../src/core/daily/merge.ts';
import type { ShrinkGuard } from '../../src/core/daily/shrink-guard.ts';
import type { UnitOutcome } from '../../src/core/run/run.ts';
import type { ReadMode } from '../../src/core/time/window.ts';
import { shareDatabaseFile } from '../../src/warehouse/duckdb/file/database-file.ts';
import { jsonValue } from '../../src/warehouse/duckdb/file/engine.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import { columnsOf, type DatedRow } from './daily-rows.ts';
import { isFullSuite } from './suite-size.ts';

/** The default guard (docs/design.md section 4.1). */
export const guard: ShrinkGuard = { maxShare: 0.2, maxRows: 3, allow: false };

export const committedAtMs = Date.parse('2024-06-01T04:00:00Z');

/** Midnight UTC of a day, in milliseconds. */
export function at(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** A day of 2024 by its number from 1, YYYY-MM-DD. */
export function dayOf(dayNumber: number): string {
  return new Date(Date.UTC(2024, 0, dayNumber)).toISOString().slice(0, 10);
}

export function xidOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** A row of a day, at midnight UTC; required measures default to 0 and the others to null. */
export function row(
  xid: number,
  day: string,
  values: Readonly<Record<string, Measure>> = {},
  extras: string | null = null,
): DatedRow {
  const measures = measureFields.map(({ name, required }) => values[name] ?? (required ? 0 : null));
  return { xid: xidOf(xid), instantMs: at(day), day, measures, extras };
}

/** Rows of the first `count` days of 2024, xid and oil rate by the day's number. */
export function dailyRows(count: number): readonly DatedRow[] {
  return Array.from({ length: count }, (_, index) => row(index + 1, dayOf(index + 1), { oilRate: index + 1 }));
}

export function unreadable(
  details: Partial<Pick<QuarantinedRecord, 'day' | 'raw' | 'rates' | 'reason'>> & { readonly xid?: number } = {},
): QuarantinedRecord {
  const { xid, day = null, raw = '{"oilRate":null}', rates = { oil: null, gas: 2, water: 3 } } = details;
  const { reason = 'oilRate: expected number' } = details;
  return { raw, reason, xid: xid === undefined ? null : xidOf(xid), day, rates };
}

/** A reading of one window, by default January 2024; its counts add up. */
export function reading(
  rows: readonly DatedRow[],
  details: {
    readonly unit?: number;
    readonly uwi?: string;
    readonly from?: string;
    readonly to?: string;
    readonly timeZone?: string;
    readonly mode?: ReadMode;
    readonly isVerified?: boolean;
    readonly quarantined?: readonly QuarantinedRecord[];
    readonly notices?: readonly string[];
  } = {},
): WindowBatch {
  const { unit = 0, uwi = 'NO 15/9-F-1 C', from = '2024-01-01', to = '2024-02-01', mode = 'incremental' } = details;
  const { quarantined = [], notices = [], isVerified = true, timeZone = 'UTC' } = details;
  const read = rows.length + quarantined.length;
  const counts = { read, repeated: 0, outsideWindow: 0, quarantined: quarantined.length, defaulted: 0, requests: 1 };
  const window = { fromMs: at(from), toMs: at(to) };
  return {
    unit,
    uwi,
    window,
    timeZone,
    mode,
    isVerified,
    readDays: wholeDays(window, 'UTC', window.toMs),
    rows: columnsOf(rows),
    quarantined,
    counts,
    notices,
  };
}

/** The part of a warehouse that commits batches. */
export interface Committing {
  readonly dailyProduction: WarehouseHandle['dailyProduction'];
  readonly ledger: Pick<WarehouseHandle['ledger'], 'runs'>;
}

let runs = 0;

/** Creates a run with an open unit for each window; returns its id. */
export async function planned(warehouse: Committing, windows: readonly WindowBatch[]): Promise<string> {
  runs += 1;
  const runId = `run-${runs}`;
  const units = windows.map(({ unit, uwi }) => ({ unit, chunk: 0, target: uwi, spec: {} }));
  await warehouse.ledger.runs.create({
    runId,
    job: 'export daily-production',
    params: {},
    service: 'https://service.example',
    actor: 'tester@host',
    requestedAtMs: committedAtMs,
  });
  await warehouse.ledger.runs.savePlan(runId, units, committedAtMs);
  return runId;
}

export interface Ending {
  readonly stopped?: Fault | undefined;
  readonly observations?: RunObservations | undefined;
}

/** Ends a run whose units are settled: failed where one is, or where it was stopped. */
export async function endRun(
  { ledger: { runs: ledger } }: Pick<Committing, 'ledger'>,
  runId: string,
  { stopped, observations }: Ending = {},
): Promise<void> {
  const { units, counts, failures } = await ledger.totals(runId);
  const job = (await ledger.readHead(runId))?.job ?? '';
  await ledger.finish(
    {
      runId,
      job,
      state: units.failed > 0 || stopped !== undefined ? 'failed' : 'done',
      ...(stopped === undefined ? {} : { stopped }),
      units,
      counts,
      balance: { balanced: true, statement: '' },
      failures,
      notices: [],
      startedAtMs: committedAtMs,
      finishedAtMs: committedAtMs,
    },
    observations,
  );
}

/** Commits readings as a run of their own; the outcomes are by unit. */
export async function load(
  warehouse: Committing,
  windows: readonly WindowBatch[],
  shrink: ShrinkGuard = guard,
  atMs = committedAtMs,
): Promise<readonly UnitOutcome[]> {
  const runId = await planned(warehouse, windows);
  const { outcomes } = await warehouse.dailyProduction.commit({ runId, windows, shrink, committedAtMs: atMs });
  return outcomes.toSorted((left, right) => left.unit - right.unit);
}

/** Commits one reading as a run of its own. */
export async function loadOne(
  warehouse: Committing,
  window: WindowBatch,
  shrink?: ShrinkGuard,
  atMs?: number,
): Promise<UnitOutcome> {
  const [outcome] = await load(warehouse, [window], shrink, atMs);
  if (outcome === undefined) throw new Error('the unit was not settled');
  return outcome;
}

/** All rows of a query, as an operator runs it. */
export async function askAsOperator(warehouse: WarehouseHandle, sql: string): Promise<readonly (readonly unknown[])[]> {
  return warehouse.query(sql, ({ rows }) => allOf(rows));
}

const paths = new WeakMap<WarehouseHandle, string>();

/** Lets {@link ask} read the file while it is open; returns the handle. */
export function askedWhileOpen<Handle extends WarehouseHandle>(warehouse: Handle, path: string): Handle {
  paths.set(warehouse, path);
  return warehouse;
}

/** All rows of a query. That of an operator closes a DuckDB file and opens it twice, as this does in the full suite. */
export async function ask(warehouse: WarehouseHandle, sql: string): Promise<readonly (readonly unknown[])[]> {
  const path = isFullSuite ? undefined : paths.get(warehouse);
  if (path === undefined) return askAsOperator(warehouse, sql);
  const file = shareDatabaseFile({ path, now: Date.now });
  try {
    file.requireStored();
    return await file.transact(async ({ connection }) => {
      const result = await connection.stream(sql);
      return (await allOf(result.yieldConvertedRows(jsonValue))).flat();
    });
  } finally {
    await file.release();
  }
}

export async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const each of items) all.push(each);
  return all;
}
