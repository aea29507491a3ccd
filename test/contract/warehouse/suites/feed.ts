/** The feed of a warehouse in a folder, read back by another library than the one that wrote it. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parquetMetadata } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { AbortedError, OutageError, PermanentError } from '../../../../src/core/base/errors.ts';
import { defaultContract } from '../../../../src/core/contract/tables.ts';
import { recordLists } from '../../../../src/core/definitions/record-list.ts';
import { FolderStore } from '../../../../src/files/folder-store.ts';
import type { FeedStore } from '../../../../src/warehouse/feed/manifest.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { inFolder, openFeed, readFeedRows } from '../../../support/feed.ts';
import {
  ask,
  committedAtMs,
  dailyRows,
  dayOf,
  guard,
  load,
  loadOne,
  reading,
  row,
  xidOf,
} from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const allowed = { ...guard, allow: true };
const year = { from: '2024-01-01', to: '2025-01-01' };

/** Two wells, of which names and texts need care, in January and February. */
const twoWells = [
  reading(
    dailyRows(40).map((each) => ({ ...each, extras: '{"note":"a \\"b\\", c\\nd"}' })),
    { uwi: 'NO "15/9", F\n1', unit: 0, ...year },
  ),
  reading(
    [
      row(901, dayOf(3), { oilRate: 0.1, gasRate: -0, choke: 7, downtimeCode: '', isDualFlow: true }),
      row(902, dayOf(2)),
    ],
    { uwi: 'Å-2', unit: 1, ...year },
  ),
];

/** A folder that does something before each call of those that write. */
function positionOf(folder: string, before: () => Promise<void>): FeedStore {
  const store = new FolderStore(folder);
  const behind = <Args extends readonly unknown[], T>(work: (...args: Args) => Promise<T>) => {
    return async (...args: Args): Promise<T> => {
      await before();
      return work(...args);
    };
  };
  return {
    address: store.address,
    read: (name, most) => store.read(name, most),
    write: behind((...args: Parameters<FeedStore['write']>) => store.write(...args)),
    replace: behind((...args: Parameters<FeedStore['replace']>) => store.replace(...args)),
    upload: behind((...args: Parameters<FeedStore['upload']>) => store.upload(...args)),
    fetch: (name, content) => store.fetch(name, content),
    list: (prefix) => store.list(prefix),
    remove: behind((name: string) => store.remove(name)),
  };
}

/** A place that fails at the nth call of those that write. */
function failingAt(folder: string, step: number): FeedStore {
  let steps = 0;
  return positionOf(folder, async () => {
    steps += 1;
    if (steps === step) throw new Error(`failed at step ${step}`);
  });
}

/** The units in the metadata of a Parquet file. */
async function unitsIn(file: string): Promise<unknown> {
  const { key_value_metadata: found = [] } = parquetMetadata(new Uint8Array(await readFile(file)).buffer);
  const units = found.find(({ key }) => key === 'units')?.value;
  return units === undefined ? undefined : JSON.parse(units);
}

const columns = `uwi, CAST(xid AS VARCHAR) AS xid, date, production_day, oil_rate, gas_rate, choke, downtime_code,
  is_dual_flow, CAST(extras AS VARCHAR) AS extras, changed_run_id, changed_at`;

async function dailyIn(warehouse: WarehouseHandle): Promise<readonly unknown[]> {
  const rows = await ask(
    warehouse,
    `SELECT ${columns} FROM daily_production ORDER BY date_trunc('month', date), uwi, date`,
  );
  return rows.map((values) => values.map((value, place) => ([2, 11].includes(place) ? isoOf(value) : value)));
}

function isoOf(value: unknown): string {
  return new Date(String(value)).toISOString();
}

const names = ['uwi', 'xid', 'date', 'production_day', 'oil_rate', 'gas_rate', 'choke', 'downtime_code'];
const shownNames = [...names, 'is_dual_flow', 'extras', 'changed_run_id', 'changed_at'];

function valuesOf(rows: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] {
  return rows.map((each) => shownNames.map((name) => each[name]));
}

/** `cutSteps`: of a publication of two months and their restatements, the calls that write, at which it is cut. */
export function describeFeed(open: OpenWarehouse, cutSteps: readonly number[]): void {
  const test = freshWarehouse(open);

  describe('the feed', () => {
    it('G1, G2: has the rows of the warehouse, by month, well and day, and all other tables', async () => {
      const { warehouse } = test();
      await load(warehouse, twoWells);
      await using feed = await openFeed(warehouse);
      expect(await feed.publish()).toMatchObject({ version: 1, isNew: true, months: 2, monthsDue: 0, removed: 0 });
      const { manifest, rows } = await feed.read();
      expect(valuesOf(rows.daily_production)).toEqual(await dailyIn(warehouse));
      const lists = recordLists.map(({ table }) => [table, undefined, 0] as const);
      expect(manifest.files.map(({ table, month, rows: count }) => [table, month, count])).toEqual(
        [
          ['coverage', undefined, 2] as const,
          ['daily_production', '2024-01', 33] as const,
          ['daily_production', '2024-02', 9] as const,
          ...lists,
          ['well', undefined, 0] as const,
        ].toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))),
      );
      const january = manifest.files.find(({ month }) => month === '2024-01');
      expect(january?.path).toMatch(/^daily_production\/production_month=2024-01\/part-run-\d+-[\da-f]{8}\.parquet$/);
      expect(rows.coverage).toEqual(
        twoWells
          .map(({ uwi }) => ({ uwi, from_day: '2024-01-01', to_day: '2025-01-01' }))
          .toSorted((a, b) => (a.uwi < b.uwi ? -1 : 1)),
      );
      expect(await feed.verify()).toMatchObject({ faults: [] });
      // Nothing has changed: no other version.
      expect(await feed.publish()).toMatchObject({ version: 1, isNew: false, files: 0 });
    });

    it('says the units of its columns in each file and beside them, as they are set now', async () => {
      const { warehouse } = test();
      await using feed = await openFeed(warehouse);
      await load(warehouse, twoWells);
      const contract = { ...defaultContract, units: { oilRate: 'm3/d', choke: 'unknown' } };
      await feed.publish({ settings: { contract } });
      const { files } = await feed.manifest();
      const [coverage = '', month = ''] = files.map(({ path: name }) => path.join(feed.folder, name));
      expect(await unitsIn(month)).toMatchObject({ oil_rate: 'm3/d', gas_rate: 'Mscf/d', choke: 'unknown' });
      expect(await unitsIn(coverage)).toBeUndefined();
      const described = async (): Promise<string> => readFile(path.join(feed.folder, 'datapackage.json'), 'utf8');
      expect(await described()).toMatch(/"name": "oil_rate",[^}]*"unit": "m3\/d"/);
      expect(await described()).not.toMatch(/"name": "choke",[^}]*"unit"/);
      await feed.publish();
      expect(await described()).toMatch(/"name": "oil_rate",[^}]*"unit": "bbl\/d"/);
      expect((await feed.verify()).faults).toEqual([]);
    });

    it('has the rows of each month as CSV by setting, and every file again when the setting changes', async () => {
      const { warehouse } = test();
      await load(warehouse, twoWells);
      await using feed = await openFeed(warehouse);
      await feed.publish();
      await feed.publish({ settings: { format: 'csv' } });
      const { manifest, rows } = await feed.read();
      expect(manifest.files.every(({ path: name }) => name.endsWith('.csv'))).toBe(true);
      expect(rows.daily_production.at(-1)).toMatchObject({
        uwi: twoWells[0]?.uwi,
        production_day: '2024-02-09',
        choke: '',
      });
      expect(rows.daily_production.find(({ uwi, choke }) => uwi === 'Å-2' && choke === '7')).toMatchObject({
        date: '2024-01-03T00:00:00Z',
        oil_rate: '0.1',
        is_dual_flow: 'true',
      });
      expect(rows.daily_production).toHaveLength(42);
      expect(await feed.verify()).toMatchObject({ faults: [] });
    });

    it('G2: writes the months again that a commit touched, and leaves the others as they are', async () => {
      const { warehouse } = test();
      await load(warehouse, twoWells);
      await using feed = await openFeed(warehouse);
      await feed.publish();
      const before = await feed.manifest();
      const corrected = dailyRows(40).map((each, index) => (index === 35 ? row(36, dayOf(36), { oilRate: 5 }) : each));
      await loadOne(
        warehouse,
        reading(corrected.slice(31), { uwi: 'NO "15/9", F\n1', from: dayOf(32), to: dayOf(41) }),
      );
      expect(await feed.publish()).toMatchObject({ version: 2, months: 1, restatements: 9 });
      const after = await feed.read();
      const pathOf = (manifest: typeof before, month: string) =>
        manifest.files.find((each) => each.month === month)?.path;
      expect(pathOf(after.manifest, '2024-01')).toBe(pathOf(before, '2024-01'));
      expect(pathOf(after.manifest, '2024-02')).not.toBe(pathOf(before, '2024-02'));
      expect(after.manifest.retired.map(({ path: name }) => name)).toContain(pathOf(before, '2024-02'));
      expect(valuesOf(after.rows.daily_production)).toEqual(await dailyIn(warehouse));
    });

    it('takes a month out whose rows have left, and grows by at most so many months at a time', async () => {
      const { warehouse } = test();
      await load(warehouse, twoWells);
      await using feed = await openFeed(warehouse);
      expect(await feed.publish({ settings: { maxMonths: 1 } })).toMatchObject({ version: 2, months: 2, monthsDue: 0 });
      await loadOne(warehouse, reading([], { uwi: 'NO "15/9", F\n1', from: dayOf(32), to: dayOf(60) }), allowed);
      await feed.publish();
      const { manifest, rows } = await feed.read();
      expect(manifest.files.flatMap(({ month }) => month ?? [])).toEqual(['2024-01']);
      expect(valuesOf(rows.daily_production)).toEqual(await dailyIn(warehouse));
      expect(await feed.verify()).toMatchObject({ faults: [] });
    });

    it('G2: has every restatement once, in numbers that only grow, so that a reader goes on after its last one', async () => {
      const { warehouse } = test();
      await using feed = await openFeed(warehouse);
      await loadOne(warehouse, reading(dailyRows(9)));
      await feed.publish();
      expect(await feed.manifest()).toMatchObject({ lastRestatement: 0 });
      let cursor = 0;
      const seen: unknown[] = [];
      for (const oilRate of [10, 20, 30]) {
        const rows = dailyRows(9).map((each, index) =>
          index < 2 ? row(index + 1, dayOf(index + 1), { oilRate }) : each,
        );
        await loadOne(warehouse, reading(rows), allowed, committedAtMs + oilRate * 1_000);
        await feed.publish();
        const manifest = await feed.manifest();
        for (const file of manifest.files.filter(({ table, last = 0 }) => table === 'restatements' && last > cursor)) {
          for (const each of await readFeedRows(inFolder(feed.folder), file)) seen.push(each);
        }
        cursor = manifest.lastRestatement;
      }
      const kept = await ask(
        warehouse,
        `SELECT restatement_no, CAST(xid AS VARCHAR), oil_rate, change FROM daily_production_history ORDER BY 1`,
      );
      expect(kept.map(([number]) => number)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(seen).toEqual(
        kept.map(
          ([number, xid, oilRate, change]) =>
            expect.objectContaining({ restatement_no: number, xid, oil_rate: oilRate, change }) as unknown,
        ),
      );
      expect(kept.slice(-2).map(([, , oilRate]) => oilRate)).toEqual([20, 20]);
    });

    it('keeps a file for so many hours after it was named last, whatever its age', async () => {
      const { warehouse } = test();
      await using feed = await openFeed(warehouse);
      const filesThere = async () =>
        (await readdir(path.join(feed.folder, 'daily_production'), { recursive: true })).filter((name) =>
          name.endsWith('.parquet'),
        ).length;
      await loadOne(warehouse, reading(dailyRows(3)));
      await feed.publish();
      await loadOne(warehouse, reading(dailyRows(4)));
      // The first file is 100 hours old when it is replaced, and was named until then.
      expect(await feed.publish({ hours: 100 })).toMatchObject({ removed: 0 });
      expect(await feed.publish({ hours: 147 })).toMatchObject({ removed: 0 });
      expect(await filesThere()).toBe(2);
      // Of daily production and of coverage.
      expect(await feed.publish({ hours: 149 })).toMatchObject({ removed: 1 });
      expect(await filesThere()).toBe(1);
      expect(await feed.verify()).toMatchObject({ faults: [] });
    });

    it('removes what a killed publication left, and nothing that is not of a feed', async () => {
      const { warehouse } = test();
      await using feed = await openFeed(warehouse);
      await loadOne(warehouse, reading(dailyRows(3)));
      await feed.publish();
      const left = ['well/part-0.parquet', 'daily_production/production_month=2024-01/part-run-7-1.parquet'];
      for (const name of [...left, 'well/notes.txt', 'other.parquet'])
        await writeFile(path.join(feed.folder, name), 'x');
      expect(await feed.publish({ hours: 47 })).toMatchObject({ removed: 0 });
      expect(await feed.publish({ hours: 49 })).toMatchObject({ removed: 2 });
      expect(await readFile(path.join(feed.folder, 'well/notes.txt'), 'utf8')).toBe('x');
      expect(await feed.verify()).toMatchObject({ faults: [] });
    });

    it.each(cutSteps)(
      'G1, G7: that is cut at step %i keeps the version before, whole, and what is due',
      async (step) => {
        const { warehouse } = test();
        await using feed = await openFeed(warehouse);
        await loadOne(warehouse, reading(dailyRows(40), year));
        await feed.publish();
        const before = await feed.read();
        await loadOne(
          warehouse,
          reading(
            dailyRows(60).map((each, index) => ({ ...each, xid: xidOf(index + 100) })),
            year,
          ),
          allowed,
        );
        const cut = await feed.publish({ place: failingAt(feed.folder, step) }).catch((error: unknown) => error);
        if (cut instanceof Error) expect(cut.message).toBe(`failed at step ${step}`);
        const between = await feed.read();
        expect([before.manifest.version, before.manifest.version + 1]).toContain(between.manifest.version);
        expect([valuesOf(before.rows.daily_production), await dailyIn(warehouse)]).toContainEqual(
          valuesOf(between.rows.daily_production),
        );
        await feed.publish();
        const after = await feed.read();
        expect(valuesOf(after.rows.daily_production)).toEqual(await dailyIn(warehouse));
        expect(after.rows.restatements).toHaveLength(40);
        expect(await feed.verify()).toMatchObject({ faults: [] });
      },
    );

    it('G1: two publications at once end both, with every row once', async () => {
      const { warehouse, another } = test();
      await using feed = await openFeed(warehouse);
      const other = another();
      for (let round = 1; round <= 3; round += 1) {
        await loadOne(warehouse, reading(dailyRows(round), year));
        await Promise.all([feed.publish(), feed.publish({ warehouse: other })]);
        const { manifest, rows } = await feed.read();
        expect(manifest).toMatchObject({ version: round, monthsDue: 0 });
        expect(valuesOf(rows.daily_production)).toEqual(await dailyIn(warehouse));
      }
    });

    it('G1, G7: without its lease a publication writes no version, and another one goes on when it ends', async () => {
      const { warehouse, another } = test();
      await using feed = await openFeed(warehouse);
      await loadOne(warehouse, reading(dailyRows(2)));
      const thief = another().ledger.feed;
      const place = positionOf(feed.folder, async () => {
        // As if the publication had slept for longer than its lease, which it gets back no more: the manifest is written within a
        // transaction, for which the thief would wait.
        while (!(await thief.hold('thief', 60_000))) await sleep(20);
      });
      await expect(feed.publish({ place, settings: { leaseMs: 1, waitMs: 500 } })).rejects.toThrow(OutageError);
      await expect(feed.manifest()).rejects.toThrow('ENOENT');
      expect(await thief.hold('thief', 300)).toBe(true);
      expect(await feed.publish()).toMatchObject({ version: 1, months: 1 });
      expect((await feed.read()).rows.daily_production).toHaveLength(2);
    });

    it('ends between two files when it is stopped, and waits for another one for so long', async () => {
      const { warehouse } = test();
      await using feed = await openFeed(warehouse);
      await loadOne(warehouse, reading(dailyRows(2)));
      await expect(feed.publish({ signal: AbortSignal.abort() })).rejects.toThrow(AbortedError);
      await warehouse.ledger.feed.hold('another', 60_000);
      await expect(feed.publish({ settings: { waitMs: 1 } })).rejects.toThrow('another process publishes the feed');
      await warehouse.ledger.feed.release('another');
      expect(await feed.publish()).toMatchObject({ months: 1 });
    });

    it('G11: belongs to one warehouse, and is written again in another place', async () => {
      const { warehouse } = test();
      const other = { warehouseId: 'another' };
      await using feed = await openFeed(warehouse);
      await using second = await openFeed(warehouse);
      await loadOne(warehouse, reading(dailyRows(40), year));
      await feed.publish();
      await expect(feed.publish(other)).rejects.toThrow(PermanentError);
      expect(await feed.verify(other)).toMatchObject({
        faults: [{ what: 'manifest.json', fault: expect.stringMatching(/^it is of another warehouse, /) as string }],
      });
      expect(await second.publish()).toMatchObject({ version: 2, months: 2 });
      expect(await feed.publish()).toMatchObject({ version: 3, months: 2 });
      await rm(path.join(feed.folder, 'manifest.json'));
      expect(await feed.publish()).toMatchObject({ version: 4, months: 2 });
      expect((await feed.read()).rows.daily_production).toHaveLength(40);
    });

    it('G2: verify names each file that is missing, damaged or of other rows, and --all writes them again', async () => {
      const { warehouse } = test();
      await using feed = await openFeed(warehouse);
      await load(warehouse, twoWells);
      await feed.publish();
      await loadOne(warehouse, reading([row(901, dayOf(3)), row(902, dayOf(2))], { uwi: 'Å-2', ...year }));
      await feed.publish();
      const { files } = await feed.manifest();
      const [coverage, january, february, restatements] = files.map(({ path: name }) => name);
      await rm(path.join(feed.folder, coverage ?? ''));
      await writeFile(path.join(feed.folder, january ?? ''), 'PAR1');
      const bytes = await readFile(path.join(feed.folder, february ?? ''));
      await writeFile(path.join(feed.folder, february ?? ''), bytes.fill('x', 100, 101));
      await rm(path.join(feed.folder, restatements ?? ''));
      await rm(path.join(feed.folder, 'datapackage.json'));
      const { faults } = await feed.verify();
      expect(faults.map(({ what }) => what)).toEqual([coverage, january, february, restatements, 'datapackage.json']);
      expect(faults.map(({ fault }) => fault)).toEqual([
        'it is missing',
        expect.stringMatching(/^it has 4 bytes, and had \d+$/),
        'its digest is another one',
        'it is missing',
        'it is missing',
      ]);
      expect(await feed.publish()).toMatchObject({ isNew: false });
      expect((await feed.verify()).faults).toHaveLength(4);
      await feed.publish({ all: true });
      expect(await feed.verify()).toMatchObject({ faults: [] });
      expect((await feed.read()).rows.restatements).toHaveLength(1);
    });
  });
}
