import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { highestSeed, sampleOf } from '../../../../src/core/verify/sample.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const someSeed = fc.integer({ min: 0, max: highestSeed });

describe('a sample of wells', () => {
  it('has the wells of its seed, so many as were asked for, whatever the order of the list', () => {
    const property = fc.property(fc.uniqueArray(fc.string()), fc.nat(20), someSeed, (names, size, seed) => {
      const sample = sampleOf(names, size, seed);
      expect(sample).toHaveLength(Math.min(size, names.length));
      expect(names.filter((name) => sample.includes(name))).toEqual(sample);
      expect(new Set(sampleOf(names.toReversed(), size, seed))).toEqual(new Set(sample));
      // A larger sample of the seed has the smaller one.
      expect(sampleOf(names, size + 1, seed)).toEqual(expect.arrayContaining([...sample]));
    });
    expectForAll(property, 300);
  });

  it('takes each well about as often, over many seeds, also where names are alike', () => {
    const names = Array.from({ length: 40 }, (_, index) => `NO 15/9-F-${index}`);
    const taken = new Map(names.map((name) => [name, 0]));
    for (let seed = 0; seed < 4_000; seed += 1) {
      for (const name of sampleOf(names, 10, seed)) taken.set(name, (taken.get(name) ?? 0) + 1);
    }
    // 1,000 on average; six standard deviations of a fair choice are 164.
    for (const times of taken.values()) expect(Math.abs(times - 1_000)).toBeLessThan(164);
  });
});
