import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SettledPrefix } from '../../../../src/core/pipes/look-ahead.ts';

interface Entry {
  readonly number: number;
  outcome: string | undefined;
}

describe('the checkpoint', () => {
  const order = fc.integer({ min: 1, max: 40 }).chain((size) =>
    fc.shuffledSubarray(
      Array.from({ length: size }, (_, index) => index),
      { minLength: size, maxLength: size },
    ),
  );

  test('G7: the checkpoint is the end of the settled prefix, for every order of outcomes', () => {
    fc.assert(
      fc.property(order, fc.integer({ min: 1, max: 4 }), (resolutions, every) => {
        const prefix = new SettledPrefix<Entry>();
        const entries = resolutions.map((_, number): Entry => ({ number, outcome: undefined }));
        for (const entry of entries) prefix.track(entry);
        const passed: number[] = [];
        resolutions.forEach((number, index) => {
          const entry = entries[number];
          if (entry !== undefined) entry.outcome = 'accepted';
          if (index % every > 0 && index < resolutions.length - 1) return;
          passed.push(...prefix.pass().map((one) => one.number));
          const settled = entries.findIndex(({ outcome }) => outcome === undefined);
          const count = settled === -1 ? entries.length : settled;
          expect(passed).toEqual(entries.slice(0, count).map((one) => one.number));
          expect(prefix.size).toBe(entries.length - count);
        });
        expect(prefix.pass()).toEqual([]);
      }),
    );
  });
});
