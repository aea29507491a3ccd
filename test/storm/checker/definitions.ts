/** Time series and bodies of wells after the last read of each (G1, G4, G6): equal to what the service has, and no more. */
import type { Evidence, RecordBody, TableRow, Violation } from '../evidence.ts';
import type { Ledger } from './ledger.ts';
import type { CheckRules } from './rules.ts';
import { groupedBy, isSame, msOf, numberOf, parsedOf, rowsOf, textOf, violated } from './tables.ts';

export function checkDefinitions(evidence: Evidence, ledger: Ledger, rules: CheckRules): readonly Violation[] {
  const { timeSeries, wells } = evidence.service;
  // The list of the installation has the wells with daily production.
  const listed = Object.keys(wells).filter((well) => well in evidence.truth);
  return [
    ...violationsOfSeries(evidence, ledger),
    ...violationsOfWells(evidence, ledger),
    ...violationsOfRemovals(evidence, rules),
    ...violationsOfVersions(evidence),
    ...violationsOfPlans(evidence, ledger, 'export time-series', Object.keys(timeSeries)),
    ...violationsOfPlans(evidence, ledger, 'export wells', listed),
  ];
}

/** The targets of a job that were read to their end in a run that was requested in the quiet time. */
function readTargets({ calmMs }: Evidence, { runs, unitsByRun }: Ledger, job: string): ReadonlySet<string> {
  const calm = [...runs.values()].filter((run) => run.job === job && run.requestedMs >= calmMs);
  const units = calm.flatMap(({ id }) => unitsByRun.get(id) ?? []);
  return new Set(units.filter(({ state }) => state === 'done' || state === 'held').map(({ target }) => target));
}

/** An export of the quiet time reads all of its targets. */
function violationsOfPlans(
  evidence: Evidence,
  ledger: Ledger,
  job: string,
  targets: readonly string[],
): readonly Violation[] {
  const read = readTargets(evidence, ledger, job);
  const unread = targets.filter((target) => !read.has(target));
  if (unread.length === 0) return [];
  return [violated('storm', `${job} of the quiet time did not read ${unread.length} of its targets`, { unread })];
}

/** Each time series is one row, with its cells; a row that the service lacks is held, with exactly so many (decision 25). */
function violationsOfSeries(evidence: Evidence, ledger: Ledger): readonly Violation[] {
  const stored = groupedBy(rowsOf(evidence, 'time_series'), (row) => textOf(row, 'equipment'));
  const holds = groupedBy(rowsOf(evidence, 'held_definition'), (row) => textOf(row, 'target'));
  const read = readTargets(evidence, ledger, 'export time-series');
  return [...read].flatMap((equipment) => {
    const sent = new Map((evidence.service.timeSeries[equipment] ?? []).map((body) => [String(body['xid']), body]));
    const rows = groupedBy(stored.get(equipment) ?? [], (row) => textOf(row, 'xid'));
    const surplus = [...rows.keys()].filter((xid) => !sent.has(xid)).length;
    const held = (holds.get(equipment) ?? []).reduce((sum, row) => sum + (numberOf(row, 'rows_missing') ?? 0), 0);
    const words = `${surplus} time series of ${equipment} are not at the service, and ${held} are held`;
    return [
      ...[...sent].flatMap(([xid, body]) => violationsOfOne(equipment, body, rows.get(xid) ?? [])),
      ...(surplus === held ? [] : [violated('G4', words, { equipment })]),
    ];
  });
}

const seriesColumns = [
  ['source_id', 'sourceId'],
  ['equipment_xid', 'equipmentXid'],
  ['measurement', 'measurement'],
  ['unit', 'unit'],
] as const;

function violationsOfOne(equipment: string, body: RecordBody, rows: readonly TableRow[]): readonly Violation[] {
  const [row] = rows;
  const name = `time series ${String(body['sourceId'])} of ${equipment}`;
  if (row === undefined) return [violated('G4', `${name} is at the service, and no row has it`, { equipment })];
  const apart = seriesColumns.filter(([column, field]) => (row[column] ?? null) !== (body[field] ?? null));
  return [
    ...(rows.length === 1 ? [] : [violated('G1', `${name} is ${rows.length} rows`, { equipment })]),
    ...(apart.length === 0
      ? []
      : [violated('G1', `${name} differs from the service in ${apart.map(([column]) => column).join(', ')}`, { row })]),
  ];
}

/** The body of each well is kept as it was sent, as text and as JSON. */
function violationsOfWells(evidence: Evidence, ledger: Ledger): readonly Violation[] {
  const stored = groupedBy(rowsOf(evidence, 'well'), (row) => textOf(row, 'source_id'));
  return [...readTargets(evidence, ledger, 'export wells')].flatMap((well) => {
    const body = evidence.service.wells[well];
    const rows = stored.get(well) ?? [];
    const isKept = ({ body: text, document }: TableRow): boolean =>
      isSame(parsedOf(String(text)), body) && isSame(document, body);
    if (body === undefined || (rows.length === 1 && rows.every(isKept))) return [];
    return [violated('G1', `the body of well ${well} is not what the service has of it`, { rows })];
  });
}

/** The table of definitions, and the columns that name one. */
const keysOf: Readonly<Record<string, readonly string[]>> = { time_series: ['equipment', 'xid'], well: ['source_id'] };

/** A definition has one version at any time. */
function violationsOfVersions(evidence: Evidence): readonly Violation[] {
  return Object.entries(keysOf).flatMap(([table, columns]) => {
    const versions = [
      ...rowsOf(evidence, `${table}_history`).map((row) => {
        return { row, fromMs: msOf(row, 'known_from') ?? 0, toMs: msOf(row, 'noticed_at') ?? 0 };
      }),
      ...rowsOf(evidence, table).map((row) => ({ row, fromMs: msOf(row, 'changed_at') ?? 0, toMs: Infinity })),
    ].toSorted((left, right) => left.fromMs - right.fromMs || left.toMs - right.toMs);
    const byKey = groupedBy(versions, ({ row }) => columns.map((column) => textOf(row, column)).join(' '));
    return [...byKey].flatMap(([key, those]) =>
      those.flatMap(({ row, fromMs, toMs }, index) => {
        const at = { atMs: fromMs, runId: textOf(row, 'run_id') };
        const next = those[index + 1];
        return [
          ...(toMs < fromMs ? [violated('G1', `a version of ${table} ${key} ended before it was known`, at)] : []),
          ...(next !== undefined && next.fromMs < toMs
            ? [violated('G1', `two versions of ${table} ${key} are known at one time`, { ...at, atMs: next.fromMs })]
            : []),
        ];
      }),
    );
  });
}

/** What counts as gone was deleted before, or the service removed it by itself. */
function violationsOfRemovals({ service, tables }: Evidence, { clockSlackMs }: CheckRules): readonly Violation[] {
  const deleted = service.requests.filter(
    ({ endpoint, isApplied }) => endpoint === 'delete-time-series' && isApplied === true,
  );
  const lost = [
    ...deleted.map(({ target, sourceId, arrivedMs }) => ({ target, sourceId, atMs: arrivedMs })),
    ...service.definitionChanges.filter(({ what }) => what === 'removed'),
  ];
  const gone = (tables['time_series_history'] ?? []).filter(
    ({ change }) => change === 'removed' || change === 'deleted',
  );
  return gone.flatMap((row) => {
    const [equipment, sourceId] = [textOf(row, 'equipment'), textOf(row, 'source_id')];
    const atMs = msOf(row, 'noticed_at') ?? 0;
    const isLost = lost.some(
      (each) => each.target === equipment && each.sourceId === sourceId && each.atMs <= atMs + clockSlackMs,
    );
    if (isLost) return [];
    const what = `time series ${sourceId} of ${equipment} counts as gone, and the service never lost it`;
    return [violated('G4', what, { atMs, runId: textOf(row, 'run_id') })];
  });
}
