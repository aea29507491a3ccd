import { expect, it } from 'vitest';
import { type KeptHold, ServiceState } from '../../../src/queue/embedded/service-state.ts';

it('G9: what is kept of a Retry-After outlives the answer to an earlier request, and ends with the wait', () => {
  let nowMs = 1_000_000;
  let kept: KeptHold | undefined;
  const state = new ServiceState(
    () => nowMs,
    (hold) => {
      kept = hold;
    },
  );
  state.holdAll(60_000, 3_600_000);
  state.endSeries();
  expect(kept).toMatchObject({ untilMs: nowMs + 60_000, seriesSinceMs: nowMs });
  expect(state.holdNow()).toBeDefined();
  state.holdAll(60_000, 3_600_000);
  nowMs += 60_001;
  state.endSeries();
  expect(kept).toBeUndefined();
});

it('G9: a process that read the wait of another one takes no later one away with the end of its series', () => {
  let nowMs = 1_000_000;
  const kept: (KeptHold | undefined)[] = [];
  const state = new ServiceState(
    () => nowMs,
    (hold) => void kept.push(hold),
  );
  const hold = { untilMs: nowMs + 5_000, askedUntilMs: nowMs + 5_000, isTooLong: false, seriesSinceMs: nowMs };
  state.restore(hold);
  nowMs += 6_000;
  state.endSeries();
  state.restore({ ...hold, untilMs: 1 });
  expect(kept).toEqual([]);
  expect(state.holdAll(119_000, 120_000)).toMatchObject({ isTooLong: false });
});
