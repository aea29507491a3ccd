import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compare } from '../../../bench/report/comparison.ts';
import { figuresOf, median, spreadOf, type Figures, type Sample } from '../../../bench/report/measurement.ts';
import { changesTable, figuresTable } from '../../../bench/report/table.ts';

const values = fc.array(fc.double({ min: 0.01, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 9 });

describe('the median', () => {
  it.each([
    [[3], 3],
    [[9, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
  ])('of %j is %d', (list, expected) => {
    expect(median(list)).toBe(expected);
  });

  it('has as many values on either side, whatever their order', () => {
    fc.assert(
      fc.property(values, (list) => {
        const middle = median(list);
        const [below, above] = [list.filter((each) => each < middle), list.filter((each) => each > middle)];
        expect(Math.max(below.length, above.length)).toBeLessThanOrEqual(list.length / 2);
        expect(median(list.toReversed())).toBe(middle);
      }),
    );
  });

  it('of nothing is an error', () => {
    expect(() => median([])).toThrow(RangeError);
  });
});

function sample(rate: number, more: Partial<Sample> = {}): Sample {
  return { amount: 1_000, seconds: 1_000 / rate, cpuSeconds: 0.5, peakMegabytes: 100, otherLoad: 0, ...more };
}

describe('the figures of a measurement', () => {
  const names = { subject: 'export', unit: 'rows', baseline: 'bare' };

  it('take the ratio round by round, so that a slow minute of the machine counts for neither side', () => {
    const rounds = [100, 10, 50].map((machine) => ({ baseline: sample(machine * 4), subject: sample(machine) }));
    expect(figuresOf({ ...names, rounds }).ratio).toEqual({ median: 0.25, least: 0.25, most: 0.25 });
  });

  it('are medians, and of memory the most', () => {
    const rounds = [
      { baseline: sample(100), subject: sample(10, { cpuSeconds: 0.1, peakMegabytes: 300 }) },
      { baseline: sample(100), subject: sample(20, { cpuSeconds: 0.3, peakMegabytes: 200 }) },
      { baseline: sample(100), subject: sample(50, { cpuSeconds: 0.2, peakMegabytes: 100, otherLoad: 2 }) },
    ];
    const figures = figuresOf({ ...names, rounds });
    expect(figures).toMatchObject({ amount: 1_000, rate: 20, seconds: 50, baselineRate: 100, peakMegabytes: 300 });
    expect(figures.cpuMicros).toBeCloseTo(200);
    expect(figures.otherLoad).toBe(0);
    expect(figures.ratio).toEqual({ median: 0.2, least: 0.1, most: 0.5 });
  });

  it('have no memory where the subject has no process of its own', () => {
    const rounds = [{ baseline: sample(1), subject: sample(1, { peakMegabytes: null }) }];
    expect(figuresOf({ ...names, rounds }).peakMegabytes).toBeNull();
  });
});

function figuresFor(subject: string, ratios: readonly number[]): Figures {
  const rounds = ratios.map((ratio) => ({ baseline: sample(1_000), subject: sample(ratio * 1_000) }));
  return figuresOf({ subject, unit: 'rows', baseline: 'bare', rounds });
}

describe('a comparison', () => {
  it.each([
    ['quicker', [0.5, 0.51, 0.52], [0.7, 0.71, 0.72]],
    ['slower', [0.7, 0.71, 0.72], [0.5, 0.51, 0.52]],
    ['same', [0.5, 0.5, 0.5], [0.52, 0.52, 0.52]],
    ['same', [0.3, 0.5, 0.7], [0.5, 0.7, 0.9]],
  ])('says %s for %j and then %j', (verdict, before, after) => {
    const [change] = compare([figuresFor('export', before)], [figuresFor('export', after)]);
    expect(change?.verdict).toBe(verdict);
  });

  it('never calls a change that is within the noise of the rounds anything but the same', () => {
    fc.assert(
      fc.property(values, values, (before, after) => {
        const [change] = compare([figuresFor('a', before)], [figuresFor('a', after)]);
        const isWithin = Math.abs(change?.change ?? 0) <= (change?.noise ?? 0);
        expect(change?.verdict === 'same').toBe(isWithin);
      }),
    );
  });

  it('names subjects of one run alone, those of now in their order first', () => {
    const changes = compare(
      [figuresFor('old', [1]), figuresFor('both', [1])],
      [figuresFor('new', [1]), figuresFor('both', [1])],
    );
    expect(changes.map(({ subject, verdict }) => [subject, verdict])).toEqual([
      ['new', 'new'],
      ['both', 'same'],
      ['old', 'gone'],
    ]);
  });
});

describe('the tables', () => {
  it('align their columns and leave out what there is not', () => {
    const shared = { ...figuresFor('commit', [0.5]), peakMegabytes: null };
    const lines = figuresTable([figuresFor('export, nothing changed', [0.25, 0.5, 0.75]), shared]).split('\n');
    expect(new Set(lines.map(({ length }) => length)).size).toBe(1);
    const cells = lines.map((line) => line.split('|').map((cell) => cell.trim()));
    const column = (title: string): readonly (string | undefined)[] =>
      cells.map((line) => line[cells[0]?.indexOf(title) ?? 0]);
    expect(column('ratio').slice(2)).toEqual(['0.50', '0.50']);
    expect(column('from to').slice(2)).toEqual(['0.25-0.75', '0.50-0.50']);
    expect(column('peak MB').slice(2)).toEqual(['100', '']);
    expect(column('CPU us').slice(2)).toEqual(['500', '500']);
  });

  it('show a change with its sign and its noise', () => {
    const text = changesTable(compare([figuresFor('export', [0.5])], [figuresFor('export', [0.6])]));
    expect(text).toMatch(/export +\| +0\.50 \| +0\.60 \| +\+20 % \| +5 % \| quicker/);
  });

  it('show no figure for a subject that is new', () => {
    expect(changesTable(compare([], [figuresFor('export', [0.6])]))).toMatch(/export +\| +\| +0\.60 \| +\| +\| new/);
  });
});

it('a spread is from the least to the most', () => {
  expect(spreadOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 });
});
