import { expect, test } from 'vitest';
import { createRandom, drawnUuid } from './random.ts';

const draws = (random: { next(): number }, count = 20): readonly number[] =>
  Array.from({ length: count }, () => random.next());

test('a seed draws the same numbers each time, and another seed others', () => {
  expect(draws(createRandom(7))).toEqual(draws(createRandom(7)));
  expect(draws(createRandom(8))).not.toEqual(draws(createRandom(7)));
});

test('a fork does not depend on what was drawn before it, and differs by name', () => {
  const [fresh, used] = [createRandom(7), createRandom(7)];
  draws(used);
  expect(draws(used.fork('truth'))).toEqual(draws(fresh.fork('truth')));
  expect(draws(fresh.fork('truth'))).not.toEqual(draws(fresh.fork('faults')));
  used.fork('faults').next();
  expect(used.next()).toBe(draws(fresh, 21)[20]);
});

test('whole numbers meet both ends and nothing beyond', () => {
  const random = createRandom(1);
  const drawn = new Set(Array.from({ length: 300 }, () => random.integer(-1, 2)));
  expect([...drawn].toSorted((left, right) => left - right)).toEqual([-1, 0, 1, 2]);
});

test('a chance is met in about its share', () => {
  const random = createRandom(3);
  const met = Array.from({ length: 4_000 }, () => random.chance(0.25)).filter(Boolean).length;
  expect(met).toBeGreaterThan(900);
  expect(met).toBeLessThan(1_100);
  expect([random.chance(0), random.chance(1)]).toEqual([false, true]);
});

test('a shuffled list has the items of the list, which stays', () => {
  const list = Array.from({ length: 50 }, (_, index) => index);
  const shuffled = createRandom(5).shuffled(list);
  expect(shuffled).not.toEqual(list);
  expect(shuffled.toSorted((left, right) => left - right)).toEqual(list);
});

test('UUIDs are valid and differ', () => {
  const random = createRandom(5);
  const drawn = Array.from({ length: 500 }, () => drawnUuid(random));
  expect(new Set(drawn).size).toBe(500);
  expect(drawn.filter((uuid) => !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(uuid))).toEqual([]);
});

test('nothing can be picked from an empty list', () => {
  expect(() => createRandom(1).pick([])).toThrow(RangeError);
});
