import { describe, expect, it } from 'vitest';
import { type KeptHold, ServiceState } from '../../../src/queue/embedded/hold-and-circuit.ts';

it('G9: what is kept of a Retry-After outlives the answer to an earlier request, and ends with the wait', () => {
  let nowMs = 1_000_000;
  let kept: KeptHold | undefined;
  const state = new ServiceState(
    () => nowMs,
    (hold) => {
      kept = hold;
    },
  );
  state.isWorking = true;
  state.holdAll(60_000, 3_600_000);
  state.endSeries();
  expect(kept).toMatchObject({ untilMs: nowMs + 60_000, seriesSinceMs: nowMs });
  expect(state.holdNow()).toBeDefined();
  state.holdAll(60_000, 3_600_000);
  nowMs += 60_001;
  state.endSeries();
  expect(kept).toBeUndefined();
});

describe('the end of a series whose wait another process met', () => {
  const untilMs = 1_005_000;
  const hold = { untilMs, askedUntilMs: untilMs, isTooLong: false, seriesSinceMs: 1_000_000 };

  function endedBy({ isWorking }: { readonly isWorking: boolean }) {
    const kept: (KeptHold | undefined)[] = [];
    const state = new ServiceState(
      () => untilMs + 1_000,
      (each) => void kept.push(each),
    );
    Object.assign(state, { isWorking });
    state.restore(hold);
    state.endSeries();
    expect(state.holdAll(119_000, 120_000)).toMatchObject({ isTooLong: false });
    return kept.slice(0, -1);
  }

  it('G9: is kept by the working process, for the next one', () => {
    expect(endedBy({ isWorking: true })).toEqual([undefined]);
  });

  it('G9: takes no later wait away where the process does not work', () => {
    expect(endedBy({ isWorking: false })).toEqual([]);
  });
});
