import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from '../../../src/timers/turns.ts';

/** Bounds that no test reaches. */
const far = { mostStepMs: 60_000, mostWaitMs: 60_000 };

/** A step that ends when it is told to. */
function stepOf(turns: Turns) {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { done: turns.goFirst(() => ended), end };
}

it('a page waits for the step that is under way, and for those that follow it at once', async () => {
  const turns = new Turns(far);
  const order: string[] = [];
  const transaction = async (): Promise<void> => {
    for (const name of ['first step', 'second step', 'third step']) {
      await turns.goFirst(() => nextTurn());
      order.push(name);
    }
  };
  const [begun, page] = [transaction(), turns.page().then(() => order.push('page'))];
  await Promise.all([begun, page]);
  expect(order).toEqual(['first step', 'second step', 'third step', 'page']);
});

it('a step that lasts keeps no page', async () => {
  const turns = new Turns({ ...far, mostStepMs: 5 });
  const { done, end } = stepOf(turns);
  const pages = [turns.page(), turns.page()];
  expect(await Promise.all(pages)).toHaveLength(2);
  end();
  await done;
});

it('steps without end keep no page', async () => {
  const turns = new Turns({ ...far, mostWaitMs: 20 });
  const over = new AbortController();
  const steps = (async () => {
    while (!over.signal.aborted) await turns.goFirst(() => nextTurn());
  })();
  const pages = Array.from({ length: 5 }, () => turns.page());
  expect(await Promise.all(pages)).toHaveLength(5);
  over.abort();
  await steps;
});

it('a step settles as its work does, and one that failed keeps no page', async () => {
  const turns = new Turns(far);
  expect(await turns.goFirst(async () => 'rows')).toBe('rows');
  await expect(turns.goFirst(() => Promise.reject(new Error('no such table')))).rejects.toThrow('no such table');
  await turns.page();
});

it('two pages have no turn together, in the order of their calls', async () => {
  const turns = new Turns(far);
  const order: string[] = [];
  const loop = (async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      await nextTurn();
      order.push('turn');
    }
  })();
  await Promise.all([turns.page().then(() => order.push('page 1')), turns.page().then(() => order.push('page 2'))]);
  await loop;
  expect(order.filter((each) => each !== 'turn')).toEqual(['page 1', 'page 2']);
  expect(order.indexOf('page 2') - order.indexOf('page 1')).toBeGreaterThan(1);
});
