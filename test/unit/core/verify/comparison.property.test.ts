/** The comparison of a read with stored rows: any edits of the service's records give exactly their classes. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureFields } from '../../../../src/core/daily/row.ts';
import { dayNumber } from '../../../../src/core/time/production-day.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';
import {
  type BrokenRecord,
  type ComparisonCounts,
  type ReadSoFar,
  type StoredRecord,
  type VerifiedRead,
  WindowComparison,
} from '../../../../src/core/verify/comparison.ts';
import { columnsOf, type DatedRow } from '../../../support/daily-rows.ts';
import { expectForAll } from '../../../support/property-runs.ts';
import { dayOf, row, xidOf } from '../../../support/warehouse-batches.ts';

/** What becomes of the record of a day between the warehouse and the service. */
const edits = [
  'same',
  'value',
  'text',
  'extras',
  'day',
  'xid',
  'gone',
  'new',
  'moved in',
  'quarantined',
  'accepted',
  'broken',
  'broken without xid',
  'both broken and gone elsewhere',
] as const;
type Edit = (typeof edits)[number];

const someEdits = fc.array(fc.constantFrom(...edits), { maxLength: 40 });
/** The day, from 1, up to which the well was read, and whether February is held. */
const someKnown = fc.record({ watermarkDay: fc.option(fc.nat(45)), isFebruaryHeld: fc.boolean() });

const asTheyAre = { text: (text: string) => text, json: (json: string) => json };
const dayOfUtc = (instantMs: number): number => Math.floor(instantMs / DAY_MS);

function storedOf({ xid, instantMs, day, measures, extras }: DatedRow): StoredRecord {
  return { xid, instantMs, day: dayNumber(day), measures, extras };
}

interface Script {
  readonly here: StoredRecord[];
  readonly elsewhere: StoredRecord[];
  readonly there: DatedRow[];
  readonly broken: BrokenRecord[];
}

/** A record of each day from 1 on, and its xid by the day. */
function scriptOf(script: readonly Edit[]): Script {
  const { here, elsewhere, there, broken }: Script = { here: [], elsewhere: [], there: [], broken: [] };
  for (const [index, edit] of script.entries()) {
    const day = index + 1;
    const before = row(day, dayOf(day), { oilRate: day, downtimeCode: 'A' }, '{"a":1}');
    const values = { oilRate: day, downtimeCode: 'A' };
    if (edit !== 'new' && edit !== 'moved in') here.push(storedOf(before));
    const xid = xidOf(day);
    if (edit === 'same') there.push(before);
    if (edit === 'value') there.push(row(day, dayOf(day), { ...values, choke: 3 }, '{"a":1}'));
    if (edit === 'text') there.push(row(day, dayOf(day), { ...values, downtimeCode: 'a' }, '{"a":1}'));
    if (edit === 'extras') there.push(row(day, dayOf(day), values, '{"a":1.0}'));
    if (edit === 'day') there.push({ ...before, day: dayOf(day + 100) });
    if (edit === 'xid') there.push({ ...before, xid: xidOf(1_000 + day) });
    if (edit === 'new') there.push(before);
    if (edit === 'moved in') {
      there.push(before);
      elsewhere.push({ ...storedOf(before), instantMs: before.instantMs - 400 * DAY_MS });
    }
    if (edit === 'quarantined' || edit === 'accepted')
      broken.push({ xid, day: dayOf(day), reason: 'r', standing: edit });
    if (edit === 'broken') broken.push({ xid, day: dayOf(day), reason: 'r', standing: undefined });
    if (edit === 'broken without xid') broken.push({ xid: null, day: dayOf(day), reason: 'r', standing: undefined });
    if (edit === 'both broken and gone elsewhere') {
      broken.push({ xid: xidOf(5_000 + day), day: null, reason: 'r', standing: 'quarantined' });
    }
  }
  return { here, elsewhere, there, broken };
}

function readOf({ there, broken }: Script): VerifiedRead {
  const counts = { read: there.length + broken.length, repeated: 0, outsideWindow: 0 };
  return { uwi: 'A', rows: columnsOf(there), broken, counts, isUnknown: false };
}

const february = dayNumber('2024-02-01');

function expectedCounts(script: readonly Edit[], { watermarkDay, isFebruaryHeld }: ReturnType<typeof knownOf>) {
  const counts: Record<string, number> = {};
  const add = (name: keyof ComparisonCounts): void => void (counts[name] = (counts[name] ?? 0) + 1);
  for (const [index, edit] of script.entries()) {
    const day = index + 1;
    const isRead = day < watermarkDay;
    const isHeld = isFebruaryHeld && day > 31 && day <= 60;
    const isGone = edit === 'gone' || edit === 'both broken and gone elsewhere';
    if (edit === 'same') add('same');
    if (['value', 'text', 'extras', 'day', 'xid', 'moved in'].includes(edit)) add('differing');
    if (edit === 'new' || edit.startsWith('broken')) add(isRead ? 'missingHere' : 'notYetRead');
    if (isGone) add(isHeld ? 'held' : 'missingThere');
    if (edit === 'quarantined' || edit === 'both broken and gone elsewhere') add('quarantined');
    if (edit === 'accepted') add('accepted');
    if (['quarantined', 'accepted', 'broken', 'broken without xid'].includes(edit)) add('standing');
    if (edit !== 'new' && edit !== 'moved in') add('stored');
  }
  return counts;
}

function knownOf({ watermarkDay, isFebruaryHeld }: { watermarkDay: number | null; isFebruaryHeld: boolean }) {
  return { watermarkDay: watermarkDay ?? 0, isFebruaryHeld };
}

describe('a comparison', () => {
  it('G2: any edits give exactly their classes, and the sums of both sides hold', () => {
    const property = fc.property(someEdits, someKnown, fc.boolean(), (script, known, isReversed) => {
      const { here, elsewhere, ...service } = scriptOf(script);
      const comparison = new WindowComparison(readOf({ here, elsewhere, ...service }), dayOfUtc, asTheyAre);
      for (const stored of isReversed ? here.toReversed() : here) comparison.addStored(stored);
      const unmatched = new Set(comparison.unmatchedXids);
      for (const stored of elsewhere) if (unmatched.has(stored.xid)) comparison.addMoved(stored);
      const readSoFar: ReadSoFar = {
        watermarkDay: known.watermarkDay === null ? undefined : dayNumber(dayOf(known.watermarkDay)),
        knownDays: [],
      };
      const { counts, finding } = comparison.result(readSoFar, new Set(known.isFebruaryHeld ? [february] : []));
      const { read, repeated, outsideWindow, ...classes } = counts;
      const found = Object.fromEntries(Object.entries(classes).filter(([, count]) => count > 0));
      expect(found).toEqual(expectedCounts(script, knownOf(known)));
      const { same, differing, missingHere, notYetRead, quarantined, accepted } = counts;
      const ofService = same + differing + missingHere + notYetRead + repeated + outsideWindow + quarantined + accepted;
      expect(ofService).toBe(read);
      const { stored, missingThere, held, standing } = counts;
      const movedIn = script.filter((edit) => edit === 'moved in').length;
      expect(same + differing - movedIn + missingThere + held + standing).toBe(stored);
      expect(finding === undefined).toBe(differing + missingHere + missingThere === 0);
      expect(finding?.differences.length ?? 1).toBeGreaterThan(0);
    });
    expectForAll(property, 500);
  });

  it('the days of a finding hold every record that differs, on both sides, and the day behind the last', () => {
    const plain = edits.filter((edit) => !/broken|quarantined|accepted|moved/.test(edit));
    const property = fc.property(fc.array(fc.constantFrom(...plain), { maxLength: 40 }), (script) => {
      const parts = scriptOf(script);
      const comparison = new WindowComparison(readOf(parts), dayOfUtc, asTheyAre);
      for (const stored of parts.here) comparison.addStored(stored);
      const { finding } = comparison.result({ watermarkDay: 1e6, knownDays: [] }, new Set());
      const sides = [new Set(parts.here.map(keyOf)), new Set(parts.there.map((each) => keyOf(storedOf(each))))];
      const both = [...parts.here, ...parts.there.map(storedOf)];
      const isOnOneSide = (each: StoredRecord): boolean => !sides.every((side) => side.has(keyOf(each)));
      const days = both.filter(isOnOneSide).map(({ instantMs }) => dayOfUtc(instantMs));
      expect(finding?.days).toEqual(
        days.length === 0 ? undefined : { fromDay: Math.min(...days), toDay: Math.max(...days) + 1 },
      );
    });
    expectForAll(property, 200);
  });

  it('a record of a day that a well without a watermark was read of is missing here', () => {
    const comparison = new WindowComparison(readOf(scriptOf(['new', 'new'])), dayOfUtc, asTheyAre);
    const day = dayNumber(dayOf(1));
    const { counts } = comparison.result(
      { watermarkDay: undefined, knownDays: [{ fromDay: day, toDay: day + 1 }] },
      new Set(),
    );
    expect(counts).toMatchObject({ missingHere: 1, notYetRead: 1 });
  });

  it('a well that the service does not know has all rows missing there, and no days for a backfill', () => {
    const nothing = { uwi: 'A', rows: columnsOf([]), broken: [], counts: { read: 0, repeated: 0, outsideWindow: 0 } };
    const comparison = new WindowComparison({ ...nothing, isUnknown: true }, dayOfUtc, asTheyAre);
    for (const stored of scriptOf(['same', 'same']).here) comparison.addStored(stored);
    const { counts, finding } = comparison.result({ watermarkDay: undefined, knownDays: [] }, new Set());
    expect(counts).toMatchObject({ stored: 2, missingThere: 2 });
    expect(finding?.days).toBeUndefined();
    expect(finding?.differences).toHaveLength(2);
  });

  it('names every field that differs, with both values', () => {
    const values = { oilRate: 1, choke: 4, downtimeCode: 'A', isDualFlow: true };
    const read = readOf({ here: [], elsewhere: [], there: [row(1, dayOf(1), values)], broken: [] });
    const comparison = new WindowComparison(read, dayOfUtc, asTheyAre);
    comparison.addStored(storedOf(row(1, dayOf(1), { oilRate: 2, isDualFlow: false }, '{}')));
    const { finding } = comparison.result({ watermarkDay: undefined, knownDays: [] }, new Set());
    expect(finding?.differences.map(({ field, here, there }) => [field, here, there])).toEqual([
      ['oil_rate', 2, 1],
      ['choke', null, 4],
      ['downtime_code', null, 'A'],
      ['is_dual_flow', false, true],
    ]);
    expect(measureFields).toHaveLength(32);
  });
});

function keyOf({ xid, instantMs, day, measures, extras }: StoredRecord): string {
  return JSON.stringify([xid, instantMs, day, measures, extras]);
}
