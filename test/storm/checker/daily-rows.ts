/**
 * The rows of daily production after the last read of each whole well (G1, G4): equal to what the service sends, cell by cell,
 * but for held rows and for records that broke the contract, which are in quarantine.
 */
import type { Evidence, RecordBody, TableRow, Violation } from '../evidence.ts';
import { dailyUnits, type Ledger, type LedgerRun, type LedgerUnit } from './ledger.ts';
import { differencesOf, fields, type GoodRecord, type JudgedRecord, judgeRecord } from './record.ts';
import type { CheckRules } from './rules.ts';
import {
  dayAt,
  dayMs,
  dayOfMs,
  groupedBy,
  isSame,
  microsOf,
  numberOf,
  parsedOf,
  rowsOf,
  textOf,
  violated,
} from './tables.ts';

/** A read of a whole well within the quiet time. */
export interface WholeRead {
  readonly fromMs: number;
  readonly toMs: number;
  readonly unit: LedgerUnit;
  readonly run: LedgerRun;
}

/** The last read of each well from the start of history on, in a run that was requested in the quiet time. */
export function wholeReads({ calmMs, settings }: Evidence, ledger: Ledger): ReadonlyMap<string, WholeRead> {
  const historyMs = Date.parse(settings.historyFrom);
  const reads = dailyUnits(ledger)
    .filter(({ state, run, spec }) => {
      return (state === 'done' || state === 'held') && run.requestedMs >= calmMs && Number(spec['fromMs']) <= historyMs;
    })
    .map(({ run, ...unit }): [string, WholeRead] => {
      return [unit.target, { fromMs: Number(unit.spec['fromMs']), toMs: Number(unit.spec['toMs']), unit, run }];
    });
  return new Map(reads.toSorted(([, left], [, right]) => left.run.requestedMs - right.run.requestedMs));
}

export interface ComparedRows {
  readonly violations: readonly Violation[];
  readonly rows: number;
  readonly cells: number;
}

/** What the truth says of a well, as far as its last read must have seen it. */
interface KnownWell {
  readonly uwi: string;
  readonly read: WholeRead;
  readonly good: ReadonlyMap<string, GoodRecord>;
  readonly broken: ReadonlyArray<JudgedRecord & { readonly body: RecordBody }>;
  /** Records that changed after the read had been requested. */
  readonly changed: ReadonlySet<string>;
}

/** Fields of a record, its instant and its extra fields. */
const cellsPerRow = fields.size + 2;

/** Compares the rows of all wells with the truth. */
export function compareRows(evidence: Evidence, ledger: Ledger, rules: CheckRules): ComparedRows {
  const reads = wholeReads(evidence, ledger);
  const stored = groupedBy(rowsOf(evidence, 'daily_production'), (row) => textOf(row, 'uwi'));
  const violations: Violation[] = [];
  let rows = 0;
  for (const [uwi, records] of Object.entries(evidence.truth)) {
    const read = reads.get(uwi);
    if (read === undefined) {
      violations.push(violated('storm', `well ${uwi} was not read whole in the quiet time`, { uwi }));
      continue;
    }
    const well = knownWell(evidence, { uwi, records, read }, rules);
    rows += well.good.size;
    violations.push(...violationsOfRows(well, stored.get(uwi) ?? []));
    violations.push(...violationsOfHolds(evidence, well, stored.get(uwi) ?? []));
    violations.push(...violationsOfQuarantine(evidence, well));
  }
  violations.push(...violationsOfKeys(evidence, ledger));
  return { violations, rows, cells: rows * cellsPerRow };
}

function knownWell(
  { service }: Evidence,
  { uwi, records, read }: Pick<KnownWell, 'uwi' | 'read'> & { readonly records: readonly RecordBody[] },
  { clockSlackMs }: CheckRules,
): KnownWell {
  const since = read.run.requestedMs - clockSlackMs;
  const changed = new Set(
    service.mutations.filter((each) => each.uwi === uwi && each.atMs >= since).map(({ xid }) => xid.toLowerCase()),
  );
  const judged = records.map((body) => ({ ...judgeRecord(body, read.toMs), body }));
  const good = judged.flatMap(({ good: record }) => (record === undefined ? [] : [[record.xid, record] as const]));
  return { uwi, read, changed, good: new Map(good), broken: judged.filter((record) => record.good === undefined) };
}

function isInside({ fromMs, toMs }: WholeRead, instantMs: number): boolean {
  return instantMs >= fromMs && instantMs < toMs;
}

/** G1, G4: each record that the read must have seen is a row, equal in every cell; no record is there twice. */
function violationsOfRows({ uwi, read, good, changed }: KnownWell, stored: readonly TableRow[]): Violation[] {
  const byXid = groupedBy(stored, xidOf);
  const violations: Violation[] = [];
  for (const [xid, record] of good) {
    if (changed.has(xid)) continue;
    const [row] = byXid.get(xid) ?? [];
    if (row === undefined) {
      if (!isInside(read, record.dateMs)) continue;
      violations.push(violated('G4', `record ${xid} of ${uwi} is at the service, and no row has it`, { uwi, xid }));
      continue;
    }
    const columns = differencesOf(row, record);
    if (columns.length === 0 || !isInside(read, record.dateMs)) continue;
    const cells = columns.map((column) => {
      return [column, { stored: row[column] ?? null, sent: record.values.get(column) ?? null }] as const;
    });
    const what = `record ${xid} of ${uwi} differs from the service in ${columns.join(', ')}`;
    const runId = textOf(row, 'changed_run_id');
    violations.push(violated('G1', what, { uwi, xid, runId, cells: Object.fromEntries(cells), atMs: atOf(row) }));
  }
  for (const [xid, rows] of byXid) {
    if (rows.length > 1)
      violations.push(violated('G1', `record ${xid} of ${uwi} is ${rows.length} rows`, { uwi, xid }));
  }
  return violations;
}

function atOf(row: TableRow): number {
  return (microsOf(row, 'changed_at') ?? 0) / 1_000;
}

function xidOf(row: TableRow): string {
  return textOf(row, 'xid').toLowerCase();
}

/**
 * G4 and decision 25: rows that the service lacks stay only where `held_month` has exactly so many between these days, or
 * where a record in quarantine stands for them: of their xid, or, without one, of their day, or of any day.
 */
function violationsOfHolds(evidence: Evidence, well: KnownWell, stored: readonly TableRow[]): Violation[] {
  const { uwi, read, good, broken, changed } = well;
  const holds = rowsOf(evidence, 'held_month').filter((row) => textOf(row, 'uwi') === uwi);
  const xids = new Set(broken.map(({ xid }) => xid));
  const days = new Set(broken.filter(({ xid }) => xid === undefined).map(({ dateMs }) => dateMs && dayOfMs(dateMs)));
  const isStoodFor = (row: TableRow): boolean => days.has(undefined) || days.has(dayAt(row, 'production_day'));
  const surplus = stored.filter((row) => {
    const xid = xidOf(row);
    const isSeen = isInside(read, (microsOf(row, 'date') ?? 0) / 1_000);
    return isSeen && !good.has(xid) && !xids.has(xid) && !changed.has(xid);
  });
  const byMonth = groupedBy(surplus, (row) => dayAt(row, 'production_day').slice(0, 7));
  const months = new Set([...byMonth.keys(), ...holds.map((row) => dayAt(row, 'month').slice(0, 7))]);
  return [...months].flatMap((month) => {
    const rows = byMonth.get(month) ?? [];
    const sure = rows.filter((row) => !isStoodFor(row));
    const hold = holds.find((row) => dayAt(row, 'month').startsWith(month));
    if (hold === undefined) return surplusWithoutHold(well, month, sure);
    return violationsOfHold(well, { hold, month, rows, sure });
  });
}

function surplusWithoutHold({ uwi }: KnownWell, month: string, sure: readonly TableRow[]): readonly Violation[] {
  if (sure.length === 0) return [];
  const xids = sure.map(xidOf);
  const what = `${sure.length} rows of ${uwi} in ${month} are not at the service, and no hold has them`;
  return [violated('G4', what, { uwi, month, xids })];
}

function violationsOfHold(
  { uwi, read, changed }: KnownWell,
  found: {
    readonly hold: TableRow;
    readonly month: string;
    readonly rows: readonly TableRow[];
    readonly sure: readonly TableRow[];
  },
): readonly Violation[] {
  const { hold, month, rows, sure } = found;
  const held = numberOf(hold, 'rows_missing') ?? 0;
  const [firstDay, lastDay] = [dayAt(hold, 'first_day'), dayAt(hold, 'last_day')];
  // A read shows the days before that of its own end alone.
  if (lastDay >= dayOfMs(read.toMs) || changed.size > 0) return [];
  const detail = { uwi, month, held, firstDay, lastDay, missing: rows.length };
  if (held < sure.length || held > rows.length) {
    return [violated('G4', `the hold of ${uwi} in ${month} has ${held} rows, and ${rows.length} are missing`, detail)];
  }
  if (sure.length !== rows.length) return [];
  const days = rows.map((row) => dayAt(row, 'production_day')).toSorted();
  if (days[0] === firstDay && days.at(-1) === lastDay) return [];
  return [violated('G4', `the hold of ${uwi} in ${month} names other days than those that are missing`, detail)];
}

/** "Quarantine" of docs/production-data.md: each record that broke the contract is there once, as it was sent, and no other. */
function violationsOfQuarantine(evidence: Evidence, { uwi, read, broken, changed }: KnownWell): Violation[] {
  const entries = rowsOf(evidence, 'quarantine').filter((row) => textOf(row, 'uwi') === uwi);
  const isRawOf = (row: TableRow, body: RecordBody): boolean => isSame(parsedOf(textOf(row, 'raw')), body);
  const missing = broken.flatMap(({ xid, dateMs, isFuture, body }) => {
    const found = entries.filter((row) => isRawOf(row, body)).length;
    if (xid !== undefined && changed.has(xid)) return [];
    if (found > 1) return [violated('G1', `a broken record of ${uwi} is in quarantine ${found} times`, { uwi, body })];
    // A service that honours the end of a request does not send what lies beyond it.
    const isSent = !isFuture && (dateMs === undefined || isInside(read, dateMs));
    return found === 1 || !isSent
      ? []
      : [violated('G2', `a broken record of ${uwi} is not in quarantine`, { uwi, body })];
  });
  const others = entries.filter((row) => {
    const raw = textOf(row, 'raw');
    const day = dayAt(row, 'production_day');
    const isSeen = day === '' || isInside(read, Date.parse(day) + dayMs / 2);
    return isSeen && !isCut(raw) && !changed.has(xidOf(row)) && !broken.some(({ body }) => isRawOf(row, body));
  });
  return [
    ...missing,
    ...others.map((row) => {
      const what = `a record of ${uwi} is in quarantine that the service does not send so`;
      return violated('G1', what, {
        uwi,
        xid: textOf(row, 'xid'),
        reason: textOf(row, 'reason'),
        raw: textOf(row, 'raw'),
      });
    }),
  ];
}

/** The start of a long record alone is kept. */
function isCut(raw: string): boolean {
  return raw.length >= 65_536;
}

/** G1: each version names runs that the warehouse knows, and its day is that of its instant in UTC, the zone of a storm. */
function violationsOfKeys(evidence: Evidence, { runs }: Ledger): readonly Violation[] {
  const current = rowsOf(evidence, 'daily_production').map(
    (row) => [row, ['inserted_run_id', 'changed_run_id']] as const,
  );
  const ended = rowsOf(evidence, 'daily_production_history').map((row) => [row, ['run_id', 'known_run_id']] as const);
  return [...current, ...ended].flatMap(([row, columns]) => {
    const of = { uwi: textOf(row, 'uwi'), xid: xidOf(row) };
    const unknown = columns.filter((column) => !runs.has(textOf(row, column)));
    const isDated = dayAt(row, 'production_day') === dayAt(row, 'date');
    return [
      ...unknown.map((column) =>
        violated('G1', `a row of ${of.uwi} has a ${column} that is no run`, { ...of, column }),
      ),
      ...(isDated ? [] : [violated('G1', `a row of ${of.uwi} is dated on another day than its instant`, of)]),
    ];
  });
}
