import { expect, test } from 'vitest';
import { WorkGate } from '../../../src/runs/chunk-worker.ts';
import { deferred } from '../../support/deferred.ts';

test('work that is alone waits for work under way, and work that comes later waits for it', async () => {
  const gate = new WorkGate();
  const order: string[] = [];
  const [first, alone] = [deferred(), deferred()];
  const begun = deferred();
  const works = [
    gate.together(async () => {
      begun.resolve();
      await first.promise;
      order.push('first ended');
    }),
  ];
  await begun.promise;
  works.push(
    gate.alone(async () => {
      order.push('alone began');
      await alone.promise;
      order.push('alone ended');
    }),
    gate.together(async () => void order.push('later')),
    gate.alone(async () => void order.push('alone again')),
  );
  first.resolve();
  await works[0];
  alone.resolve();
  await Promise.all(works);
  expect(order).toEqual(['first ended', 'alone began', 'alone ended', 'alone again', 'later']);
});

test('work of hours keeps neither kind waiting for ever', async () => {
  const gate = new WorkGate(1);
  const forEver = deferred();
  void gate.together(() => forEver.promise);
  void gate.alone(() => forEver.promise);
  expect(await gate.alone(async () => 'alone')).toBe('alone');
  expect(await gate.together(async () => 'together')).toBe('together');
});

test('a failure of work that is alone reaches its caller, and nobody else', async () => {
  const gate = new WorkGate();
  const failed = gate.alone(async () => Promise.reject(new Error('no room')));
  await expect(failed).rejects.toThrow('no room');
  expect(await gate.together(async () => 'done')).toBe('done');
});
