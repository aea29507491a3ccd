import { expect, test } from 'vitest';
import { PipeStore } from './pipe-store.ts';
import { createRandom } from './random.ts';

const storeOf = (pipesByDate: boolean, mostPipes = 10): PipeStore =>
  new PipeStore({ pipesByDate, mostPipes }, createRandom(2));
const pipe = (sourceId: string, more: object = {}) => ({ sourceNetworkId: 'n/1', sourceId, ...more });

/** Source ids that the store refuses, and one that it takes. */
function idsOf(store: PipeStore): { readonly refused: string; readonly taken: string } {
  const ids = Array.from({ length: 5_000 }, (_, index) => `P ${index}`);
  const refused = ids.find((id) => store.isRefused(id)) ?? '';
  return { refused, taken: ids.find((id) => !store.isRefused(id)) ?? '' };
}

test('a body is applied in its order, and the last pipe of an identity stays', () => {
  const store = storeOf(false);
  const [first, last] = [1, 2].map((length) => pipe('a', { date: `2026-01-0${length}T00:00:00Z`, length: [length] }));
  expect(store.take(JSON.stringify([first, last]))).toEqual({ status: 200, pipes: [first, last] });
  expect(store.pipes).toEqual({ 'n/1/a': last });
});

test('by date a pipe has a row for each instant, however it is written', () => {
  const store = storeOf(true);
  const dates = ['2026-01-01T00:00:00+0000', '2026-01-01T02:00:00+02:00', '2026-01-02T00:00:00Z', '2026-01-03'];
  store.take(JSON.stringify([...dates.map((date, index) => pipe('a', { date, length: [index] })), pipe('a')]));
  const lengths = Object.entries(store.pipes).map(([key, { length }]) => [key, length]);
  expect(lengths).toEqual([
    ['n/1/a/2026-01-01T00:00:00.000Z', [1]],
    ['n/1/a/2026-01-02T00:00:00.000Z', [2]],
    ['n/1/a/2026-01-03', [3]],
    ['n/1/a/', undefined],
  ]);
});

test('a body with a pipe that is refused stores nothing, and the ids that are refused stay the same', () => {
  const store = storeOf(false);
  const { refused, taken } = idsOf(store);
  const answer = store.take(JSON.stringify([pipe(taken), pipe(refused)]));
  expect(answer).toEqual({ status: 400, refused: { items: 2, sourceIds: [refused] } });
  expect(store.pipes).toEqual({});
  expect(store.take(JSON.stringify([pipe(refused)])).status).toBe(400);
  expect(idsOf(storeOf(true))).toEqual({ refused, taken });
});

test('more pipes than the manner takes are refused with 413', () => {
  const store = storeOf(false, 2);
  const three = ['a', 'b', 'c'].map((id) => pipe(id));
  expect(store.take(JSON.stringify(three)).status).toBe(413);
  expect(store.take(JSON.stringify(three.slice(1))).status).toBe(200);
  expect(Object.keys(store.pipes)).toEqual(['n/1/b', 'n/1/c']);
});

test.each(['', '{}', '[1]', '[null]', '[{"sourceId":"a"}]', '[{'])('%s is no list of pipes', (body) => {
  expect(storeOf(false).take(body)).toEqual({ status: 400, refused: { items: 0, sourceIds: [] } });
});
