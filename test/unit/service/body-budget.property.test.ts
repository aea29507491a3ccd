import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedBodyBytes } from '../../../src/core/base/memory-budget.ts';
import { BodyBudget, type BodyRoom } from '../../../src/service/answer-body.ts';

const maxBodyBytes = 3_000;
const never = new AbortController().signal;

interface Body {
  readonly place: BodyRoom;
  bytes: number;
  isWaiting: boolean;
}

const act = fc.oneof(
  fc.constant({ kind: 'open' } as const),
  fc.record({ kind: fc.constant('grow' as const), body: fc.nat(), bytes: fc.integer({ min: 1, max: 900 }) }),
  fc.record({ kind: fc.constant('close' as const), body: fc.nat() }),
);
type Act = typeof act extends fc.Arbitrary<infer Each> ? Each : never;

/** Lets the bodies do what they are told, each given up where it has no room. Calls `look` after every step. */
async function play(acts: readonly Act[], look: (open: readonly Body[]) => void): Promise<void> {
  const budget = new BodyBudget(maxBodyBytes);
  const open: Body[] = [];
  for (const step of acts) {
    const at = step.kind === 'open' ? 0 : step.body % Math.max(1, open.length);
    const body = open[at];
    if (step.kind === 'open') open.push(opened(budget));
    else if (body !== undefined && step.kind === 'close') {
      open.splice(at, 1);
      body.place.close();
    } else if (body !== undefined && !body.isWaiting && step.kind === 'grow') grow(body, step.bytes);
    // Those whose turn it is go on.
    await Promise.resolve();
    await Promise.resolve();
    look(open);
  }
}

/** Takes a byte at once, so that places are in the order of the bodies. */
function opened(budget: BodyBudget): Body {
  const body = { place: budget.open(), bytes: 0, isWaiting: false };
  grow(body, 1);
  return body;
}

function grow(body: Body, wanted: number): void {
  const bytes = Math.min(wanted, maxBodyBytes - body.bytes);
  if (body.place.grow(bytes)) {
    body.bytes += bytes;
    return;
  }
  body.bytes = 0;
  body.isWaiting = true;
  void body.place.turn(never).then(() => (body.isWaiting = false));
}

describe('the budget of bodies', () => {
  it('G8: whatever bodies do, they take no more than one body and the shared room, and the oldest always has room', async () => {
    const property = fc.asyncProperty(fc.array(act, { maxLength: 200 }), async (acts) => {
      await play(acts, ([oldest, ...others]) => {
        const shared = others.reduce((sum, { bytes }) => sum + bytes, 0);
        expect(shared).toBeLessThanOrEqual(sharedBodyBytes(maxBodyBytes));
        expect(oldest?.isWaiting ?? false).toBe(false);
      });
    });
    await fc.assert(property);
  });

  it('turns come in the order of places, and younger bodies that take room meanwhile do not delay them', async () => {
    const places = fc.array(fc.boolean(), { minLength: 1, maxLength: 20 });
    const property = fc.asyncProperty(places, async (isGivenUp) => {
      const budget = new BodyBudget(maxBodyBytes);
      const open = Array.from({ length: isGivenUp.length + 1 }, () => opened(budget));
      for (const [index, each] of open.slice(1).entries()) grow(each, isGivenUp[index] === true ? 2_500 : 10);
      const waiting = open.filter((body) => body.isWaiting);
      expect(waiting).toHaveLength(isGivenUp.filter(Boolean).length);
      for (const [index, oldest] of open.entries()) {
        const stillWaiting = open.slice(index).filter((body) => body.isWaiting);
        expect(stillWaiting).toEqual(waiting.filter((body) => open.indexOf(body) > index));
        oldest.place.close();
        await Promise.resolve();
        await Promise.resolve();
      }
    });
    await fc.assert(property);
  });

  it('a wait for the turn ends with its signal, and the next one has its turn', async () => {
    const budget = new BodyBudget(maxBodyBytes);
    const [oldest, left, next] = [budget.open(), budget.open(), budget.open()];
    expect(oldest.grow(3_000)).toBe(true);
    expect(left.grow(2_001)).toBe(false);
    expect(next.grow(2_001)).toBe(false);
    const ender = new AbortController();
    const leaving = left.turn(ender.signal);
    const turn = next.turn(never);
    ender.abort();
    await expect(leaving).rejects.toMatchObject({ name: 'AbortedError' });
    left.close();
    oldest.close();
    await turn;
    expect(next.grow(3_000)).toBe(true);
  });

  it('blocks are used again', () => {
    const budget = new BodyBudget(maxBodyBytes);
    const first = budget.open();
    const block = first.block();
    first.close();
    expect(budget.open().block()).toBe(block);
  });
});
