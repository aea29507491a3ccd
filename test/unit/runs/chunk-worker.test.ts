import { expect, test } from 'vitest';
import type { UnitReading } from '../../../src/queue/port.ts';
import { readingReport } from '../../../src/runs/chunk-worker.ts';

const reading = (unit: number, rows: number): UnitReading => ({ unit, rows, isRead: false });

test('readings that come during a write, or soon after, go with the next one, the newest of each unit alone', async () => {
  const written: (readonly UnitReading[])[] = [];
  const writes: (() => void)[] = [];
  const report = readingReport((readings) => {
    written.push(readings);
    return new Promise((resolve) => writes.push(resolve));
  });
  for (const rows of [1, 2, 3]) report(reading(0, rows));
  report(reading(1, 9));
  expect(written).toEqual([[reading(0, 1)]]);
  writes[0]?.();
  await expect.poll(() => written).toEqual([[reading(0, 1)], [reading(0, 3), reading(1, 9)]]);
});

test('G7: a reading that cannot be written is dropped, and the work is not disturbed', async () => {
  const tried: (readonly UnitReading[])[] = [];
  const report = readingReport((readings) => {
    tried.push(readings);
    return Promise.reject(new Error('Redis is away'));
  });
  report(reading(0, 1));
  await Promise.resolve();
  const noteAgain = () => {
    report(reading(0, 2));
    return tried;
  };
  await expect.poll(noteAgain).toContainEqual([reading(0, 2)]);
});
