import { describe, expect, it } from 'vitest';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

function journalAt() {
  const lines: string[] = [];
  const clock = { nowMs: 0 };
  const take = (_fields: unknown, text?: string): void => void lines.push(text ?? '');
  return { lines, clock, journal: new OutageJournal({ warn: take, info: take }, () => clock.nowMs) };
}

describe('the log of outages', () => {
  it('an hour of failing calls is eight lines: one at its start, some at growing intervals, one at its end', () => {
    const { lines, clock, journal } = journalAt();
    for (; clock.nowMs < 60 * minuteMs; clock.nowMs += secondMs) journal.down('redis', 'gone');
    journal.up('redis');
    journal.up('redis');
    expect(lines[0]).toBe('work waits for Redis');
    expect(lines.slice(1, -1)).toEqual(Array.from({ length: 6 }, () => 'work still waits for Redis'));
    expect(lines.at(-1)).toBe('Redis can be used again');
  });

  it('a part that fails and recovers every second is one trouble, with no line for each turn', () => {
    const { lines, clock, journal } = journalAt();
    for (; clock.nowMs < 60 * minuteMs; clock.nowMs += secondMs) {
      journal.down('disk', 'full');
      journal.up('disk');
    }
    expect(lines.length).toBeLessThanOrEqual(16);
  });

  it('a hold counts from the last recovery, and an outage that nobody meets any more does not count', () => {
    const { clock, journal } = journalAt();
    journal.down('warehouse', 'full');
    clock.nowMs = 10 * secondMs;
    journal.up('warehouse');
    clock.nowMs = 20 * secondMs;
    expect(journal.down('warehouse', 'full')).toBe(0);
    clock.nowMs = 50 * secondMs;
    expect(journal.down('warehouse', 'full')).toBe(30 * secondMs);
    expect(journal.lasting()).toEqual([{ part: 'warehouse', forMs: 30 * secondMs, reason: 'full' }]);
    clock.nowMs = 10 * minuteMs;
    expect(journal.lasting()).toEqual([]);
  });
});
