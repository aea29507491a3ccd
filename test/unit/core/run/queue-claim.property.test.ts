import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beatTimes, decideQueue } from '../../../../src/core/run/queue-claim.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const id = fc.option(fc.constantFrom('one', 'two'), { nil: undefined });
const age = fc.option(fc.nat(120_000), { nil: undefined });

describe('who may work a warehouse', () => {
  it('G11: the queue that owns it always, another one only without a young beat', () => {
    expectForAll(
      fc.property(id, id, age, (queueId, ownerId, beatAgeMs) => {
        const decision = decideQueue({ queueId, ownerId, beatAgeMs }, beatTimes);
        const isYoung = beatAgeMs !== undefined && beatAgeMs < beatTimes.staleAfterMs;
        if (ownerId === undefined) expect(decision).toEqual({ kind: 'may-take', isTakeover: false });
        else if (ownerId === queueId) expect(decision).toEqual({ kind: 'owner' });
        else if (isYoung) expect(decision).toEqual({ kind: 'wait', waitMs: beatTimes.staleAfterMs - beatAgeMs });
        else expect(decision).toEqual({ kind: 'may-take', isTakeover: true });
      }),
    );
  });
});
