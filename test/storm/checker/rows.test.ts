/** Faults of rows, of their history and of holds. */
import { describe, expect, it } from 'vitest';
import { judge } from './check.ts';
import {
  changeCounts,
  guaranteesAfter,
  type Planted,
  removeRow,
  requestOf,
  rowOf,
  rowsIn,
  type Storm,
} from './sound/planted.ts';
import { soundEvidence } from './sound/sound-evidence.ts';
import { at, instant, runIds, xid } from './sound/world.ts';

const rowByXid = (storm: Storm, number: number): Record<string, unknown> =>
  rowOf(storm, 'daily_production', 'xid', xid(number));
const endedByXid = (storm: Storm, number: number): Record<string, unknown> =>
  rowOf(storm, 'daily_production_history', 'xid', xid(number));

/** In place of its removal, the record 3 has no date from second 50 on, and its date again at `second`. */
function undate(storm: Storm, second: number): void {
  const { service } = storm;
  service.mutations = service.mutations.filter(({ xid: id, body }) => id !== xid(3) || body !== null);
  mutate(storm, 50, 'W1', 3, 'moved');
  mutate(storm, second, 'W1', 3, 'moved');
  const [, without, again] = service.mutations.filter((each) => each.xid === xid(3));
  Object.assign(without ?? {}, { what: 'broken', body: { ...without?.body, date: null } });
  Object.assign(again ?? {}, { what: 'mended' });
  mutate(storm, 200, 'W1', 3, 'removed');
}

/** Puts a mutation in the order of time. */
function mutate(
  storm: Storm,
  second: number,
  uwi: string,
  number: number,
  what: 'returned' | 'removed' | 'moved',
): void {
  const { mutations } = storm.service;
  const first = mutations.find((each) => each.xid === xid(number));
  mutations.push({
    atMs: at(second),
    uwi,
    xid: xid(number),
    what,
    body: what === 'removed' ? null : (first?.body ?? {}),
  });
  mutations.sort((left, right) => left.atMs - right.atMs);
}

const planted: readonly Planted[] = [
  ['a cell that differs from the service', 'G1 G3', (storm) => (rowByXid(storm, 1)['oil_rate'] = 99)],
  ['an optional cell that was lost', 'G1 G3', (storm) => (rowByXid(storm, 1)['choke'] = null)],
  ['a date that is off by an hour', 'G1 G3', (storm) => (rowByXid(storm, 1)['date'] = '2026-03-01T01:00:00.000000Z')],
  ['an extra field that was lost', 'G1 G3', (storm) => (rowByXid(storm, 5)['extras'] = null)],
  ['an absent required field that is null', 'G1 G3', (storm) => (rowByXid(storm, 5)['water_rate'] = null)],
  [
    'a production day that is not that of the instant',
    'G1',
    (storm) => (rowByXid(storm, 1)['production_day'] = '2026-02-28'),
  ],
  [
    'a record that is two rows',
    'G1',
    (storm) => {
      rowsIn(storm, 'daily_production').push({ ...rowByXid(storm, 1) });
      changeCounts(storm, runIds.first, { inserted: 1, read: 1, rowsAfter: 1 });
    },
  ],
  [
    'a record that no row has',
    'G3 G4',
    (storm) => {
      removeRow(storm, 'daily_production', 'xid', xid(1));
      changeCounts(storm, runIds.first, { inserted: -1, read: -1, rowsAfter: -1 });
    },
  ],
  [
    'a row of a run that is not there',
    'G1',
    (storm) => (rowByXid(storm, 1)['inserted_run_id'] = '20260310-000000-ffffff'),
  ],
  [
    'a row that the service removed, without a hold',
    'G4',
    (storm) => {
      removeRow(storm, 'daily_production_history', 'xid', xid(3));
      const { noticed_at: _, known_from: known, ...row } = rowByXid(storm, 1);
      rowsIn(storm, 'daily_production').push({
        ...row,
        xid: xid(3),
        date: instant(Date.parse('2026-03-03')),
        production_day: '2026-03-03',
        oil_rate: 13,
        changed_at: known ?? row['changed_at'],
      });
      changeCounts(storm, runIds.calm, { removed: -1, rowsAfter: 1 });
    },
  ],
  [
    'a hold with another number of rows',
    'G4',
    (storm) => {
      rowOf(storm, 'held_month', 'uwi', 'W2')['rows_missing'] = 4;
      rowOf(storm, 'alert', 'alert_id', 'held')['detail'] = { rows: 4 };
    },
  ],
  ['a hold of other days', 'G4', (storm) => (rowOf(storm, 'held_month', 'uwi', 'W2')['last_day'] = '2026-02-06')],
  [
    'a hold by a run that held nothing',
    'G4',
    (storm) => (rowOf(storm, 'held_month', 'uwi', 'W2')['run_id'] = runIds.first),
  ],
  [
    'a hold of a window that lacked too few rows',
    'G1 G4',
    (storm) => {
      const inMarch = (body: object): object => ({ ...body, date: '2026-03-20T00:00:00Z' });
      const first = storm.service.mutations.filter(({ uwi, what }) => uwi === 'W2' && what === 'initial');
      for (const each of first.slice(0, 3)) Object.assign(each, { body: inMarch(each.body ?? {}) });
    },
  ],
  [
    'a hold of rows that the service never lacked',
    'G4',
    (storm) => {
      storm.settings.shrinkRows = 5;
    },
  ],
  [
    'a hold that is gone while its rows stay',
    'G4 storm',
    (storm) => {
      storm.tables['held_month'] = [];
    },
  ],
  [
    'a record that a read must have stored, and a later one did',
    'G2 G3',
    (storm) => (rowByXid(storm, 18)['changed_at'] = instant(at(90))),
  ],
  [
    'a month that lost more than the guard allows',
    'G4',
    (storm) => {
      storm.settings.shrinkRows = 0;
      storm.settings.shrinkPercent = 10;
    },
  ],
  ['a broken record that is not in quarantine', 'G2 storm', (storm) => (storm.tables['quarantine'] = [])],
  [
    'a broken record that is in quarantine twice',
    'G1',
    (storm) => {
      rowsIn(storm, 'quarantine').push({ ...rowOf(storm, 'quarantine', 'uwi', 'W2') });
    },
  ],
  [
    'a record in quarantine that says something else than the service',
    'G1 G2',
    (storm) => {
      const row = rowOf(storm, 'quarantine', 'uwi', 'W2');
      row['raw'] = String(row['raw']).replace('5.5', '5.6');
    },
  ],
  [
    'a record in quarantine that came right',
    'G1',
    (storm) => {
      const raw = JSON.stringify({ xid: xid(1), date: '2026-03-01T00:00:00Z', oilRate: 'x' });
      const row = {
        ...rowOf(storm, 'quarantine', 'uwi', 'W2'),
        uwi: 'W1',
        xid: xid(1),
        production_day: '2026-03-01',
        raw,
      };
      rowsIn(storm, 'quarantine').push(row);
      const alert = rowOf(storm, 'alert', 'alert_id', 'quarantined');
      rowsIn(storm, 'alert').push({ ...alert, owner: 'W1', target: `W1 ${xid(1)}` });
    },
  ],
  ['a well that the quiet time did not read', 'storm', (storm) => (storm.truth['W3'] = [])],
];

const ofHistory: readonly Planted[] = [
  [
    'a version that ended before it was known',
    'G1 G2 G3',
    (storm) => (endedByXid(storm, 3)['known_from'] = instant(at(136))),
  ],
  [
    'two versions at one time',
    'G1 G2',
    (storm) => {
      const row = endedByXid(storm, 2);
      rowsIn(storm, 'daily_production_history').push({
        ...row,
        known_from: instant(at(17)),
        known_run_id: runIds.first,
      });
    },
  ],
  ['a hole between two versions', 'G1', (storm) => (rowByXid(storm, 2)['changed_at'] = instant(at(137)))],
  ['a replaced record that goes on as nothing', 'G1', (storm) => (endedByXid(storm, 4)['next_xid'] = xid(7_777))],
  ['a value that the service never said', 'G1 G3', (storm) => (endedByXid(storm, 2)['gas_rate'] = 123)],
  [
    'a value that was stored before the service said it',
    'G1',
    (storm) => {
      const found = storm.service.mutations.find(({ what }) => what === 'restated');
      if (found !== undefined) found.atMs = at(139);
    },
  ],
  [
    'an older read over a newer one',
    'G1',
    (storm) => {
      const current = rowByXid(storm, 2);
      const ended = {
        change: 'updated',
        run_id: runIds.calm,
        noticed_at: instant(at(136)),
        known_from: current['changed_at'],
      };
      const next = { ...current, oil_rate: 12, changed_at: instant(at(136)) };
      rowsIn(storm, 'daily_production_history').push({
        ...current,
        ...ended,
        known_run_id: runIds.calm,
        next_xid: xid(2),
      });
      Object.assign(current, next);
      storm.truth['W1'] = (storm.truth['W1'] ?? []).map((body) =>
        body['xid'] === xid(2) ? { ...body, oilRate: 12 } : body,
      );
      const restated = storm.service.mutations.find(({ what }) => what === 'restated');
      if (restated !== undefined) restated.atMs = at(132);
    },
  ],
  [
    'a removal of a record that was there all the time',
    'G3 G4',
    (storm) => {
      storm.service.mutations = storm.service.mutations.filter(({ xid: id, body }) => id !== xid(3) || body !== null);
    },
  ],
  [
    'a removal by a run that began after the record was back',
    'G3 G4',
    (storm) => {
      mutate(storm, 80, 'W1', 3, 'returned');
    },
  ],
  ['a removal by a run that began after the date of the record came right', 'G3 G4', (storm) => undate(storm, 80)],
];

describe('rows that a storm left', () => {
  it.each([...planted, ...ofHistory])('are accused of %s', (_, guarantees, change) => {
    expect(guaranteesAfter(change)).toBe(guarantees);
  });

  it('are not accused of what changed at the service after the last read', () => {
    const violations = judge(
      soundEvidence((storm) => {
        mutate(storm, 200, 'W1', 1, 'removed');
        storm.truth['W1'] = (storm.truth['W1'] ?? []).filter((body) => body['xid'] !== xid(1));
      }),
    ).violations;
    expect(violations).toEqual([]);
  });

  it('are not accused of a record that moved in time and follows an older read', () => {
    const violations = judge(
      soundEvidence((storm) => {
        storm.service.mutations = storm.service.mutations.filter(({ xid: id, body }) => id !== xid(3) || body !== null);
        mutate(storm, 61, 'W1', 3, 'moved');
        mutate(storm, 136, 'W1', 3, 'removed');
      }),
    ).violations;
    expect(violations).toEqual([]);
  });

  it.each([
    ['are not accused', 'between two pages', 2, ''],
    ['are accused', 'beside the only page', 1, 'G4'],
  ] as const)('%s of the removal of a record whose date came right %s', (_, __, pages, guarantees) => {
    const change = (storm: Storm): void => {
      undate(storm, 133);
      const { requests } = storm.service;
      const second = requests.findIndex(({ no }) => no === 11);
      const page = { ...requestOf(storm, 10), no: 20, arrivedMs: at(134), answeredMs: at(134.1) };
      if (pages === 2) requests.splice(second + 1, 0, page);
    };
    expect(guaranteesAfter(change)).toBe(guarantees);
  });

  it('are not accused of a loss of one month that stood in another', () => {
    const violations = judge(
      soundEvidence((storm) => {
        storm.settings.shrinkRows = 0;
        storm.settings.shrinkPercent = 10;
        const history = rowsIn(storm, 'daily_production_history');
        const moved = history.filter(({ change }) => change === 'removed');
        const later = { production_day: '2025-12-01', known_from: instant(at(100)), noticed_at: instant(at(140)) };
        history.push(...moved.map((row) => ({ ...row, ...later })));
      }),
    ).violations;
    expect(violations.filter(({ what }) => what.includes('2026') && what.includes('guard'))).toEqual([]);
  });
});
