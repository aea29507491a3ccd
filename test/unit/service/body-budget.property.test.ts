import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedBodyBytes } from '../../../src/core/base/memory-budget.ts';
import { BodyBudget, type BodyShare } from '../../../src/service/body-budget.ts';

const maxBodyBytes = 3_000;
const never = new AbortController().signal;

interface Body {
  readonly share: BodyShare;
  bytes: number;
  isWaiting: boolean;
}

const act = fc.oneof(
  fc.constant({ kind: 'open' } as const),
  fc.record({ kind: fc.constant('grow' as const), body: fc.nat(), bytes: fc.integer({ min: 1, max: 900 }) }),
  fc.record({ kind: fc.constant('close' as const), body: fc.nat() }),
);

/** Lets the bodies do what they are told, each waiting for its room. Calls `look` after every step. */
async function play(
  acts: readonly (typeof act extends fc.Arbitrary<infer Act> ? Act : never)[],
  look: (open: readonly Body[]) => void,
) {
  const budget = new BodyBudget(maxBodyBytes);
  const open: Body[] = [];
  for (const step of acts) {
    const at = step.kind === 'open' ? 0 : step.body % Math.max(1, open.length);
    const body = open[at];
    if (step.kind === 'open') open.push({ share: budget.open(), bytes: 0, isWaiting: false });
    else if (body !== undefined && step.kind === 'close') {
      open.splice(at, 1);
      body.share.close();
    } else if (body !== undefined && !body.isWaiting && step.kind === 'grow') grow(body, step.bytes);
    // Those that were let in go on.
    await Promise.resolve();
    look(open);
  }
}

function grow(body: Body, wanted: number): void {
  const bytes = Math.min(wanted, maxBodyBytes - body.bytes);
  const wait = body.share.grow(bytes, never);
  body.isWaiting = wait !== undefined;
  if (wait === undefined) body.bytes += bytes;
  else {
    void wait.then(() => {
      body.bytes += bytes;
      body.isWaiting = false;
    });
  }
}

describe('the budget of bodies', () => {
  it('G8: whatever bodies do, they take no more than one body and the shared room, and the oldest never waits', async () => {
    const property = fc.asyncProperty(fc.array(act, { maxLength: 200 }), async (acts) => {
      await play(acts, ([oldest, ...others]) => {
        const shared = others.reduce((sum, { bytes }) => sum + bytes, 0);
        expect(shared).toBeLessThanOrEqual(sharedBodyBytes(maxBodyBytes));
        expect(oldest?.isWaiting ?? false).toBe(false);
      });
    });
    await fc.assert(property);
  });

  it('a wait ends with its signal, and its room goes to others', async () => {
    const budget = new BodyBudget(maxBodyBytes);
    const [oldest, left, next] = [budget.open(), budget.open(), budget.open()];
    expect(oldest.grow(3_000, never)).toBeUndefined();
    expect(left.grow(1_500, never)).toBeUndefined();
    const ender = new AbortController();
    const wait = left.grow(1_000, ender.signal);
    const nextWait = next.grow(1_000, never);
    ender.abort(new Error('ended'));
    await expect(wait).rejects.toThrow('ended');
    await expect(left.grow(1, ender.signal) ?? Promise.reject(new Error('ended'))).rejects.toThrow('ended');
    left.close();
    await nextWait;
    oldest.close();
    next.close();
  });

  it('blocks are used again', () => {
    const budget = new BodyBudget(maxBodyBytes);
    const first = budget.open();
    const block = first.block();
    first.close();
    expect(budget.open().block()).toBe(block);
  });
});
