/** Faults of definitions, and of versions that were lost. */
import { describe, expect, it } from 'vitest';
import { guaranteesAfter, type Planted, removeRow, requestOf, rowOf, rowsIn, type Storm } from './sound/planted.ts';
import { at, instant, runIds, xid } from './sound/world.ts';

const equipmentXid = xid(900);

/** A time series that stands, as its row, and the body of a well; both were read in the quiet time. */
function readDefinitions(storm: Storm): void {
  const [run, unit] = [rowOf(storm, 'run', 'run_id', runIds.wells), rowOf(storm, 'run_unit', 'run_id', runIds.wells)];
  const calm = { requested_at: instant(at(146)), started_at: instant(at(146)), finished_at: instant(at(148)) };
  const report = run['report'] as object;
  const series = { ...run, ...calm, run_id: 'series', job: 'export time-series', report: { ...report } };
  Object.assign(run, calm);
  rowsIn(storm, 'run').push(series);
  rowsIn(storm, 'run_unit').push({ ...unit, run_id: 'series', target: 'E1' });
  const arrived = { arrivedMs: at(147), answeredMs: at(147) };
  storm.service.requests.push(
    { ...requestOf(storm, 6), ...arrived, no: 40 },
    { ...requestOf(storm, 6), ...arrived, no: 41, endpoint: 'time-series', target: 'E1' },
  );
  const by = { inserted_run_id: 'series', changed_run_id: 'series', changed_at: instant(at(147)) };
  storm.service.timeSeries = { E1: [{ xid: xid(901), sourceId: 'T2', equipmentXid, measurement: 'RATE', unit: null }] };
  storm.tables['time_series'] = [
    {
      equipment: 'E1',
      xid: xid(901),
      source_id: 'T2',
      equipment_xid: equipmentXid,
      measurement: 'RATE',
      unit: null,
      ...by,
    },
  ];
  storm.service.wells = { W1: { sourceId: 'W1', position: { latitude: 1 } } };
  const document = { position: { latitude: 1 }, sourceId: 'W1' };
  const ofWell = { inserted_run_id: runIds.wells, changed_run_id: runIds.wells, changed_at: instant(at(147)) };
  storm.tables['well'] = [{ source_id: 'W1', body: JSON.stringify(document), document, ...ofWell }];
}

const ofDefinitions: readonly Planted[] = [
  ['a time series that no row has', 'G4', (storm) => (storm.tables['time_series'] = [])],
  [
    'a cell of a time series that differs',
    'G1',
    (storm) => (rowOf(storm, 'time_series', 'source_id', 'T2')['unit'] = 'A'),
  ],
  [
    'a time series that is two rows',
    'G1',
    (storm) => void rowsIn(storm, 'time_series').push({ ...rowOf(storm, 'time_series', 'source_id', 'T2') }),
  ],
  ['a time series that stays without a hold', 'G4', (storm) => (storm.service.timeSeries = { E1: [] })],
  [
    'a hold of a time series that is there',
    'G4 storm',
    (storm) => void rowsIn(storm, 'held_definition').push({ kind: 'equipment', target: 'E1', rows_missing: 1 }),
  ],
  [
    'a time series that counts as gone, and was never deleted',
    'G4',
    (storm) => {
      const gone = { equipment: 'E1', source_id: 'T9', change: 'deleted', noticed_at: instant(at(90)) };
      rowsIn(storm, 'time_series_history').push(gone);
    },
  ],
  [
    'a time series that counts as gone before the service removed it',
    'G4',
    (storm) => {
      const gone = { equipment: 'E1', source_id: 'T9', change: 'removed', noticed_at: instant(at(90)) };
      rowsIn(storm, 'time_series_history').push(gone);
      storm.service.definitionChanges.push({ atMs: at(95), what: 'removed', target: 'E1', sourceId: 'T9' });
    },
  ],
  [
    'two versions of a time series at one time',
    'G1',
    (storm) => {
      const { changed_at: _, ...before } = rowOf(storm, 'time_series', 'source_id', 'T2');
      const ended = { change: 'updated', known_from: instant(at(60)), noticed_at: instant(at(148)) };
      rowsIn(storm, 'time_series_history').push({ ...before, ...ended, run_id: 'series' });
    },
  ],
  ['an export that left equipment out', 'storm', ({ service }) => (service.timeSeries['E2'] = [])],
  [
    'the body of a well that differs',
    'G1',
    (storm) => void Object.assign(storm.service.wells['W1'] ?? {}, { sourceId: 'W2' }),
  ],
  [
    'an updated body without its version before',
    'G1',
    (storm) => (rowOf(storm, 'well', 'source_id', 'W1')['changed_run_id'] = runIds.calm),
  ],
];

const ofVersions: readonly Planted[] = [
  [
    'an update that kept no version',
    'G1 G2 G3',
    (storm) => removeRow(storm, 'daily_production_history', 'xid', xid(2)),
  ],
  ['a removal that kept no version', 'G2 G3', (storm) => removeRow(storm, 'daily_production_history', 'xid', xid(3))],
];

describe('definitions and versions that a storm left', () => {
  it('are not accused where they are what the service has', () => {
    expect(guaranteesAfter(readDefinitions)).toBe('');
  });

  it.each(ofDefinitions)('are accused of %s', (_, guarantees, change) => {
    const after = guaranteesAfter((storm) => {
      readDefinitions(storm);
      change(storm);
    });
    expect(after).toBe(guarantees);
  });

  it.each(ofVersions)('are accused of %s', (_, guarantees, change) => {
    expect(guaranteesAfter(change)).toBe(guarantees);
  });
});
