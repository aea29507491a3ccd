import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  AbortedError,
  AccessError,
  NotFoundError,
  PermanentError,
  RateLimitedError,
  ServiceHoldError,
  TransientError,
} from '../../../../src/core/base/errors.ts';
import {
  type ChunkRetryPolicy,
  decideChunk,
  decideUnit,
  isForAll,
  isWorkedSingly,
  judgeBulkError,
  judgeUnits,
  workerDied,
} from '../../../../src/core/run/retry-decision.ts';

const policy: ChunkRetryPolicy = { maxAttempts: 4, baseDelayMs: 1_000, maxDelayMs: 10_000, maxHoldMs: 60_000 };
const timeOut = new TransientError('timeout', 'no answer');

describe('the verdict on a unit', () => {
  it.each([
    ['a transient error is tried again', timeOut, 'try-again'],
    ['a rate limit is tried again', new RateLimitedError('rate', 'slow down', 5), 'try-again'],
    ['a refused request is a dead letter', new PermanentError('refused', 'no', { status: 422 }), 'dead-letter'],
    ['an unknown well is a dead letter', new NotFoundError('not-found', 'no such well'), 'dead-letter'],
    ['a hold of the service is a dead letter', new ServiceHoldError('wait until 2090'), 'dead-letter'],
    ['no access stops the run', new AccessError('forbidden', 'no'), 'stop-run'],
    ['an abort hands the work back', new AbortedError(), 'hand-back'],
    ['an error that nobody foresaw is never tried again', new TypeError('x is not a function'), 'dead-letter'],
    ['a thrown string is never tried again', 'oops', 'dead-letter'],
  ])('%s', (_title, error, verdict) => {
    expect(decideUnit(error)).toBe(verdict);
  });
});

describe('an error that ends the whole chunk', () => {
  it.each([new RateLimitedError('rate', 'slow down', 5), new ServiceHoldError('wait until 2090')])('%s', (error) => {
    expect(isForAll(error)).toBe(true);
  });
});

describe('the verdict on a chunk', () => {
  it('is settled when nothing is left', () => {
    expect(decideChunk({ errors: [], attempt: 1, downForMs: undefined, policy, jitter: 0 })).toEqual({
      kind: 'settled',
    });
  });

  it('G9: a chunk waits for the longest Retry-After of its units up to 30 s, after which the limiter holds it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1 }),
        fc.integer({ min: 1, max: 3 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.option(fc.integer({ min: 0, max: 59_999 }), { nil: undefined }),
        (floors, attempt, jitter, downForMs) => {
          const errors = floors.map((floorMs) => new RateLimitedError('rate', 'slow down', floorMs));
          const verdict = decideChunk({ errors, attempt, downForMs, policy, jitter });
          if (verdict === undefined || !('delayMs' in verdict)) throw new Error('expected a delay');
          expect(verdict.delayMs).toBeGreaterThanOrEqual(Math.min(30_000, Math.max(...floors)));
          expect(verdict.delayMs).toBeLessThanOrEqual(30_999);
        },
      ),
    );
  });

  it('spends its attempts and then gives up', () => {
    const at = (attempt: number) =>
      decideChunk({ errors: [timeOut], attempt, downForMs: undefined, policy, jitter: 0 });
    expect([1, 2, 3].map((attempt) => at(attempt)?.kind)).toEqual(['retry', 'retry', 'retry']);
    expect(at(4)).toBeUndefined();
  });

  it('G7: a chunk retries a service that is down at least every 30 seconds, and uses no attempt', () => {
    for (const downForMs of [0, 10_000, 59_999]) {
      const verdict = decideChunk({ errors: [timeOut], attempt: 99, downForMs, policy, jitter: 0 });
      expect(verdict?.kind).toBe('hold');
      expect(verdict !== undefined && 'delayMs' in verdict && verdict.delayMs <= 30_000).toBe(true);
    }
  });

  it('counts attempts again once the patience with a silent service is spent', () => {
    const verdict = decideChunk({ errors: [timeOut], attempt: 1, downForMs: 60_000, policy, jitter: 0.5 });
    expect(verdict).toEqual({ kind: 'retry', delayMs: 750 });
  });
});

describe('the verdict on a bulk request', () => {
  it.each([
    [400, 'items'],
    [409, 'items'],
    [422, 'items'],
    [413, 'size'],
    [404, undefined],
    [405, undefined],
    [415, undefined],
    [301, undefined],
  ] as const)('%d speaks of %s', (status, about) => {
    expect(judgeBulkError(new PermanentError('refused', 'no', { status }))).toBe(about);
  });

  it('what is no refusal speaks of no item', () => {
    for (const error of [timeOut, new AbortedError(), new AccessError('forbidden', 'no'), new TypeError('a bug')]) {
      expect(judgeBulkError(error)).toBeUndefined();
    }
  });
});

const units = [0, 1, 2].map((unit) => ({ unit }));

test('G7: one worker that is killed leaves its item worked as before, a second one has it worked unit by unit', () => {
  expect([0, 1, 2, 9].map(isWorkedSingly)).toEqual([false, false, true, true]);
});

test('G7: a unit is condemned by three starts alone that died, never by fewer', () => {
  const deaths = new Map([
    [0, 2],
    [1, 3],
  ]);
  expect(judgeUnits(units, deaths)).toEqual({ toTry: [{ unit: 2 }, { unit: 0 }], guilty: [{ unit: 1 }] });
  expect(judgeUnits(units, new Map())).toEqual({ toTry: units, guilty: [] });
});

test('a condemned unit fails at once, with words for the operator', () => {
  const fault = workerDied('r1');
  expect(decideUnit(fault)).toBe('dead-letter');
  expect(fault).toMatchObject({ code: 'worker-died', action: { kind: 'retry-run', runId: 'r1' } });
  expect(fault.hint).toContain('worker.memoryMb');
});
