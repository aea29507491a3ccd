import { describe, expect, it } from 'vitest';
import { mapConcurrent, readAhead } from '../../../../src/core/base/lists.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** 0 to `last`; `asked` counts what was asked for. */
async function* numbers(last: number, asked = { count: 0 }): AsyncGenerator<number> {
  for (let number = 0; number <= last; number += 1) {
    asked.count += 1;
    await turn();
    yield number;
  }
}

async function* broken(): AsyncGenerator<number> {
  yield* numbers(2);
  throw new Error('the list broke');
}

describe('work on several items at once', () => {
  it('takes each item of an asynchronous list once, with no more at a time than allowed', async () => {
    const done: number[] = [];
    let [working, most] = [0, 0];
    await mapConcurrent(numbers(20), 3, async (number) => {
      working += 1;
      most = Math.max(most, working);
      for (let turns = 0; turns < 3; turns += 1) await turn();
      working -= 1;
      done.push(number);
    });
    expect(done.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 21 }, (_, number) => number));
    expect(most).toBe(3);
  });

  it('ends with the error of the list, after what is under way', async () => {
    const done: number[] = [];
    const work = mapConcurrent(readAhead(broken()), 4, async (number) => {
      await turn();
      done.push(number);
    });
    await expect(work).rejects.toThrow('the list broke');
    expect(done).toEqual([0, 1, 2]);
  });

  it('begins no further item after an error of another one', async () => {
    const begun: number[] = [];
    const work = mapConcurrent([0, 1, 2, 3], 2, async (number) => {
      begun.push(number);
      await turn();
      if (number === 0) throw new Error('no more');
      await turn();
    });
    await expect(work).rejects.toThrow('no more');
    expect(begun).toEqual([0, 1]);
  });
});

describe('a list that is read ahead', () => {
  it('asks for one item beyond the one that is used, and yields all in order', async () => {
    const asked = { count: 0 };
    const seen: number[] = [];
    for await (const number of readAhead(numbers(5, asked))) {
      seen.push(number);
      expect(asked.count).toBe(Math.min(6, number + 2));
    }
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
