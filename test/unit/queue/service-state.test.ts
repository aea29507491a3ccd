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
