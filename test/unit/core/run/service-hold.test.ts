import { describe, expect, it } from 'vitest';
import { heldBack, holdText, type ServiceHold, LoggedHolds } from '../../../../src/core/run/service-hold.ts';

const hold: ServiceHold = {
  untilMs: Date.parse('2026-03-01T03:00:00Z'),
  leftMs: 3_600_000,
  askedUntilMs: Date.parse('2026-03-01T03:00:00Z'),
  isTooLong: false,
};
const tooLong: ServiceHold = { ...hold, askedUntilMs: Date.parse('2090-11-01T00:00:00Z'), isTooLong: true };

describe('the words of a hold', () => {
  it('name the time that the service asked for, and the bound where that is longer', () => {
    expect(holdText(hold)).toBe('the service asked all to wait until 2026-03-01 03:00:00Z');
    expect(holdText(tooLong)).toBe(
      'the service asked all to wait until 2090-11-01 00:00:00Z, longer than queue.maxHoldMs: no request is sent before 2026-03-01 03:00:00Z',
    );
  });

  it('name the waits before it where only together they are too long', () => {
    expect(holdText({ ...hold, isTooLong: true })).toBe(
      'the service asked all to wait until 2026-03-01 03:00:00Z, and its waits in a row exceed queue.maxHoldMs: no request is sent before 2026-03-01 03:00:00Z',
    );
  });

  it('of an error say when requests go again', () => {
    expect(heldBack(tooLong)).toMatchObject({
      code: 'service-hold',
      hint: 'Requests go again in 1 h 00 min, at 2026-03-01 03:00:00Z.',
      action: { kind: 'release-service' },
    });
  });
});

describe('which holds are told', () => {
  const after = (laterMs: number): ServiceHold => ({ ...hold, untilMs: hold.untilMs + laterMs });

  it('one of many answers in the same minutes', () => {
    const told = new LoggedHolds();
    const news = Array.from({ length: 600 }, (_, second) => told.isNews(after(second * 900), second * 1_000));
    expect(news.filter(Boolean)).toHaveLength(1);
  });

  it('again after ten minutes, once it becomes too long, and where it is ten minutes longer', () => {
    const told = new LoggedHolds();
    const news = [
      told.isNews(hold, 0),
      told.isNews(hold, 599_999),
      told.isNews(hold, 600_000),
      told.isNews(after(600_000), 600_001),
      told.isNews(tooLong, 600_002),
      told.isNews(tooLong, 600_003),
    ];
    expect(news).toEqual([true, false, true, true, true, false]);
  });
});
