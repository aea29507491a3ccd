/**
 * Windows of wells as they are stored, for a comparison with what the service has (core/verify/comparison.ts). Nothing is
 * written, and no row is locked: a stamp tells whether a commit came in between.
 */
import { type Measure, measureFields, type QuarantinedRecord } from '../../../core/daily/row.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { StoredRecord } from '../../../core/verify/comparison.ts';
import type { ByUwi, StoredWindows, WindowOfWell } from '../../port/daily-production.ts';
import { contentOf, isAccepted, xidOf } from './quarantine.ts';
import { instantAt, jsonText, type SqlSession } from '../session.ts';
import { type Holds, readHolds } from './held-months.ts';

/** Each method is one or a few statements of the session's transaction. */
export function storedWindows(session: SqlSession, windows: readonly WindowOfWell[]): StoredWindows {
  let read: Promise<ByUwi<number>> | undefined;
  const keys = (): Promise<ByUwi<number>> => (read ??= readKeys(session, windows));
  return {
    rows: () => streamRows(session, windows, keys),
    rowsByXid: async (wanted) => {
      const known = wanted.length === 0 ? new Map<string, number>() : await keys();
      return readByXid(
        session,
        wanted.flatMap(({ windowNo, xid }) => {
          const wellId = known.get(windows[windowNo]?.uwi ?? '');
          return wellId === undefined ? [] : [{ window_no: windowNo, well_id: wellId, xid }];
        }),
      );
    },
    standing: (records) => readStanding(session, records),
    heldMonths: async () => {
      const holds = await readHolds(session, namesOf(windows));
      return new Map([...holds].map(([uwi, ofWell]) => [uwi, new Set(ofWell.keys())]));
    },
    forms: { text: (text) => session.dialect.stored(text), json: (json) => session.dialect.storedJson(json) },
    stamps: () => readStamps(session, windows),
  };
}

function namesOf(windows: readonly WindowOfWell[]): readonly string[] {
  return [...new Set(windows.map(({ uwi }) => uwi))];
}

/** A well without a key has never had a row. */
async function readKeys(session: SqlSession, windows: readonly WindowOfWell[]): Promise<ByUwi<number>> {
  const rows = await session.rows<{ uwi: string; wellId: number }>(
    `SELECT uwi, well_id AS "wellId" FROM well_key WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(namesOf(windows))],
  );
  return new Map(rows.map(({ uwi, wellId }) => [uwi, wellId]));
}

const windowFields = { window_no: 'INTEGER', well_id: 'INTEGER', from_at: 'VARCHAR', to_at: 'VARCHAR' } as const;

/** SQL of the rows `d` of the windows, `w.window_no`, with the value of `$1`; undefined where no well has a row. */
function inWindows(
  { dialect }: SqlSession,
  windows: readonly WindowOfWell[],
  keys: ByUwi<number>,
): { readonly from: string; readonly windows: readonly object[] } | undefined {
  const known = windows.flatMap(({ uwi, window }, windowNo) => {
    const wellId = keys.get(uwi);
    const bounds = { from_at: isoOf(window.fromMs), to_at: isoOf(window.toMs) };
    return wellId === undefined ? [] : [{ window_no: windowNo, well_id: wellId, ...bounds }];
  });
  if (known.length === 0) return undefined;
  const ids = [...new Set(known.map((each) => each.well_id))];
  const first = windows.reduce((least, { window }) => Math.min(least, window.fromMs), Infinity);
  const last = windows.reduce((most, { window }) => Math.max(most, window.toMs), -Infinity);
  // The engine skips rows by constants alone.
  const isNear = `d.well_id IN (${ids.join(', ')}) AND ${dialect.amongKeys('d.well_id', ids)}
    AND d.date >= ${instantAt(first)} AND d.date < ${instantAt(last)}`;
  const relation = `(SELECT window_no, well_id, CAST(from_at AS TIMESTAMPTZ) AS from_at, CAST(to_at AS TIMESTAMPTZ) AS to_at
    FROM ${dialect.relation('$1', windowFields)} r)`;
  const from = `internal.daily_production d JOIN ${relation} w
    ON d.well_id = w.well_id AND d.date >= w.from_at AND d.date < w.to_at WHERE ${isNear}`;
  return { from, windows: known };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

interface StoredRow extends Readonly<Record<string, Measure>> {
  readonly windowNo: number;
  readonly xid: string;
  readonly date: string;
  readonly day: string | null;
  readonly extras: string | null;
}

const rowColumns = `d.xid, d.date, d.production_day AS day, d.extras, ${measureFields.map(({ column }) => `d.${column}`).join(', ')}`;

function recordOf(row: StoredRow): StoredRecord {
  return {
    xid: row.xid,
    instantMs: Date.parse(row.date),
    day: row.day === null ? null : Date.parse(row.day) / DAY_MS,
    measures: measureFields.map(({ column }) => row[column] ?? null),
    extras: row.extras,
  };
}

async function* streamRows(
  session: SqlSession,
  windows: readonly WindowOfWell[],
  keys: () => Promise<ByUwi<number>>,
): AsyncGenerator<StoredRecord & { readonly windowNo: number }> {
  const stored = inWindows(session, windows, await keys());
  if (stored === undefined) return;
  const statement = `SELECT w.window_no AS "windowNo", ${rowColumns} FROM ${stored.from} ORDER BY w.window_no`;
  for await (const row of session.stream<StoredRow>(statement, [jsonText(stored.windows)])) {
    yield { windowNo: row.windowNo, ...recordOf(row) };
  }
}

/** Xids of one statement. */
const mostXids = 10_000;

const wantedFields = { window_no: 'INTEGER', well_id: 'INTEGER', xid: 'VARCHAR' } as const;

async function readByXid(
  session: SqlSession,
  wanted: ReadonlyArray<{ readonly window_no: number; readonly well_id: number; readonly xid: string }>,
): Promise<ReadonlyArray<StoredRecord & { readonly windowNo: number }>> {
  const { dialect } = session;
  const found: (StoredRecord & { readonly windowNo: number })[] = [];
  for (let from = 0; from < wanted.length; from += mostXids) {
    const part = wanted.slice(from, from + mostXids);
    const ids = [...new Set(part.map((each) => each.well_id))];
    const rows = await session.rows<StoredRow>(
      `SELECT w.window_no AS "windowNo", ${rowColumns} FROM internal.daily_production d
       JOIN (SELECT window_no, well_id, CAST(xid AS UUID) AS xid FROM ${dialect.relation('$1', wantedFields)} r) w
         ON d.well_id = w.well_id AND d.xid = w.xid
       WHERE d.well_id IN (${ids.join(', ')}) AND ${dialect.amongKeys('d.well_id', ids)}`,
      [jsonText(part)],
    );
    found.push(...rows.map((row) => ({ windowNo: row.windowNo, ...recordOf(row) })));
  }
  return found;
}

const recordFields = {
  record_no: 'INTEGER',
  uwi: 'VARCHAR',
  xid: 'VARCHAR',
  reason: 'VARCHAR',
  raw: 'VARCHAR',
} as const;

/** By content, as the quarantine stores it. */
async function readStanding(
  session: SqlSession,
  records: ReadonlyArray<Pick<QuarantinedRecord, 'xid' | 'reason' | 'raw'> & { readonly uwi: string }>,
): Promise<ReadonlyArray<'quarantined' | 'accepted' | undefined>> {
  if (records.length === 0) return [];
  const named = records.map(({ uwi, xid, reason, raw }, index) => ({ record_no: index, uwi, xid, reason, raw }));
  const rows = await session.rows<{ recordNo: number; isAccepted: boolean; isQuarantined: boolean }>(
    `SELECT e.record_no AS "recordNo", ${isAccepted(session, 'e')} AS "isAccepted",
       EXISTS (SELECT 1 FROM quarantine q WHERE q.uwi = e.uwi AND ${xidOf('q')} = ${xidOf('e')}
         AND ${contentOf(session, 'q')} = ${contentOf(session, 'e')}) AS "isQuarantined"
     FROM ${session.dialect.relation('$1', recordFields)} e`,
    [jsonText(named)],
  );
  const standing: ('quarantined' | 'accepted' | undefined)[] = records.map(() => undefined);
  for (const { recordNo, isAccepted: isFine, isQuarantined } of rows) {
    standing[recordNo] = isFine ? 'accepted' : isQuarantined ? 'quarantined' : undefined;
  }
  return standing;
}

// Stamps. The instant of a change of a row, or of the quarantine, is never before that of the change before
// (daily-production-store.ts): with the number of rows the latest one tells every change.

interface Stamp {
  readonly rows: number;
  readonly latest: string | null;
}

export async function readStamps(session: SqlSession, windows: readonly WindowOfWell[]): Promise<readonly string[]> {
  const stored = inWindows(session, windows, await readKeys(session, windows));
  const ofRows =
    stored === undefined
      ? []
      : await session.rows<Stamp & { windowNo: number }>(
          `SELECT w.window_no AS "windowNo", count(*) AS rows, max(d.changed_at) AS latest FROM ${stored.from} GROUP BY w.window_no`,
          [jsonText(stored.windows)],
        );
  const uwis = namesOf(windows);
  const ofQuarantine = await session.rows<Stamp & { uwi: string }>(
    `SELECT uwi, count(*) AS rows, max(noticed_at) AS latest FROM quarantine
     WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')}) GROUP BY uwi`,
    [jsonText(uwis)],
  );
  const holds = await readHolds(session, uwis);
  const rows = new Map(ofRows.map((stamp) => [stamp.windowNo, stamp]));
  const quarantine = new Map(ofQuarantine.map((stamp) => [stamp.uwi, stamp]));
  return windows.map(({ uwi }, windowNo) => {
    return JSON.stringify([textOf(rows.get(windowNo)), textOf(quarantine.get(uwi)), holdsText(holds.get(uwi))]);
  });
}

function textOf(stamp: Stamp | undefined): string {
  return stamp === undefined ? '' : `${stamp.rows} ${stamp.latest}`;
}

function holdsText(holds: Holds | undefined): string {
  return [...(holds?.values() ?? [])]
    .map(({ month, rows, firstDay, lastDay }) => `${month} ${rows} ${firstDay} ${lastDay}`)
    .join(', ');
}
