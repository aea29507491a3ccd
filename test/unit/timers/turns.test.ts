import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { goFirst, turnOfPage } from '../../../src/timers/turns.ts';

/** A step that ends when it is told to. */
function step() {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { done: goFirst(() => ended), end };
}

it('a page waits for the step that is under way, and for those that follow it at once', async () => {
  const order: string[] = [];
  const transaction = async (): Promise<void> => {
    for (const name of ['first step', 'second step', 'third step']) {
      await goFirst(() => nextTurn());
      order.push(name);
    }
  };
  const [begun, page] = [transaction(), turnOfPage().then(() => order.push('page'))];
  await Promise.all([begun, page]);
  expect(order).toEqual(['first step', 'second step', 'third step', 'page']);
});

it('a step that lasts keeps no page', async () => {
  const { done, end } = step();
  await turnOfPage();
  await turnOfPage();
  end();
  await done;
});

it('steps without end keep no page', async () => {
  let isRead = false;
  const steps = (async () => {
    while (!isRead) await goFirst(() => nextTurn());
  })();
  await turnOfPage();
  isRead = true;
  await steps;
});

it('a step settles as its work does, and one that failed keeps no page', async () => {
  expect(await goFirst(async () => 'rows')).toBe('rows');
  await expect(goFirst(() => Promise.reject(new Error('no such table')))).rejects.toThrow('no such table');
  await turnOfPage();
});

it('two pages have no turn together, in the order of their calls', async () => {
  const order: string[] = [];
  const turns = (async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      await nextTurn();
      order.push('turn');
    }
  })();
  await Promise.all([turnOfPage().then(() => order.push('page 1')), turnOfPage().then(() => order.push('page 2'))]);
  await turns;
  expect(order.filter((each) => each !== 'turn')).toEqual(['page 1', 'page 2']);
  expect(order.indexOf('page 2') - order.indexOf('page 1')).toBeGreaterThan(1);
});
