import { describe, expect, it } from 'vitest';
import { after, longestTimerMs, sleep } from '../../../src/timers/sleep.ts';

describe('a sleep', () => {
  it.each([longestTimerMs + 1, 999_999_903_136, Number.MAX_VALUE, Infinity])(
    'of %s ms does not end at once, and ends with its signal',
    async (delayMs) => {
      const controller = new AbortController();
      const ends: string[] = [];
      const asleep = sleep(delayMs, { signal: controller.signal }).then(
        () => ends.push('by itself'),
        () => ends.push('by its signal'),
      );
      // A timer of Node would end a long one after 1 ms.
      await sleep(20);
      expect(ends).toEqual([]);
      controller.abort();
      await asleep;
      expect(ends).toEqual(['by its signal']);
    },
  );

  it('in slices lasts as long as the slices together', async () => {
    const beganAtMs = performance.now();
    await sleep(50, { sliceMs: 20 });
    expect(performance.now() - beganAtMs).toBeGreaterThan(48);
  });

  it.each([0, -5, Number.NaN])('of %s ms ends at once', async (delayMs) => {
    await expect(sleep(delayMs)).resolves.toBeUndefined();
  });

  it('with an aborted signal is none', async () => {
    await expect(sleep(60_000, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a timer', () => {
  it('acts once its delay is over, and not when it is cancelled', async () => {
    const acts: string[] = [];
    const cancelled = after(1, () => acts.push('cancelled'));
    cancelled.cancel();
    await new Promise<void>((resolve) => void after(5, resolve));
    await sleep(10);
    expect(acts).toEqual([]);
  });

  it('beyond the longest timer of Node does not act at once', async () => {
    const acts: string[] = [];
    const timer = after(longestTimerMs * 3, () => acts.push('acted'));
    await sleep(20);
    expect(acts).toEqual([]);
    timer.cancel();
  });
});
