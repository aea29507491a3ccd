import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IntentPace } from '../../../../src/core/cleanup/outcome.ts';

describe('the pace of intents', () => {
  it('G6: stays at the requests that are sent at once where the service is slow', () => {
    const pace = new IntentPace(8);
    for (let group = 0; group < 5; group += 1) pace.record(pace.groupSize, 400);
    expect(pace.groupSize).toBe(8);
  });

  it('grows at a quick service, and falls back as soon as it is slow', () => {
    const pace = new IntentPace(8);
    const sizes = Array.from({ length: 4 }, () => {
      pace.record(pace.groupSize, pace.groupSize / 2);
      return pace.groupSize;
    });
    expect(sizes).toEqual([32, 128, 500, 500]);
    pace.record(500, 5_000);
    expect(pace.groupSize).toBe(25);
  });

  it('does not shrink after the few at the end of a list, unless they were slow', () => {
    const pace = new IntentPace(1);
    pace.record(1, 1);
    pace.record(4, 4);
    pace.record(16, 16);
    pace.record(2, 2);
    expect(pace.groupSize).toBe(64);
    pace.record(2, 300);
    expect(pace.groupSize).toBe(1);
  });

  it('G6: never has intents for more than a quarter of a second beyond the requests at once, by the last group', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 }), groups, (concurrency, times) => {
        const pace = new IntentPace(concurrency);
        for (const tookMs of times) {
          const { groupSize } = pace;
          pace.record(groupSize, tookMs);
          const expectedMs = (pace.groupSize * tookMs) / groupSize;
          expect(pace.groupSize <= concurrency || expectedMs <= 250).toBe(true);
        }
      }),
    );
  });
});
