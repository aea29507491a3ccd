/** The computation of a run's progress, and its display at a terminal. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { dailyProduction } from '../../../jobs/daily-production/settings.ts';
import { networkPipes } from '../../../jobs/network-pipes/counts.ts';
import { type Outlet, Output } from '../../../src/cli/output.ts';
import { barLine, createProgressDisplay } from '../../../src/cli/text/progress-display.ts';
import {
  doneUnitsOf,
  paceOf,
  progressOf,
  progressText,
  type ProgressSample,
} from '../../../src/app/runs/run-progress.ts';
import { durationText, roughDurationText } from '../../../src/core/base/text.ts';

function sample(atMs: number, settledUnits: number, read: number): ProgressSample {
  const progress = {
    state: 'running',
    generation: 0,
    queue: 'export',
    units: 200,
    settledUnits,
    counts: { read },
    underWay: [],
    reading: [],
    chunks: 2,
    chunksAdded: 2,
    chunksEnded: 0,
    stopRequest: undefined,
    unmovedMs: 0,
  } as const;
  return { progress, atMs };
}

/** A terminal of 100 columns that records its text. */
function outlet() {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true, columns: 100 });
  return { stream, text: () => String(stream.read() ?? '') };
}

function outputTo(stderr: Outlet): Output {
  return new Output({ stdout: new PassThrough(), stderr, json: false, quiet: false });
}

describe('progress', () => {
  test('is paced from the first look, so that a run that was half done is not taken for a fast one', () => {
    const progress = progressOf(sample(0, 100, 100_000), sample(10_000, 120, 120_000), dailyProduction);
    expect(progress).toEqual({
      units: 200,
      settledUnits: 120,
      readUnits: 0,
      rows: 120_000,
      rejected: 0,
      rowsPerSecond: 2_000,
      leftMs: 40_000,
    });
    expect(progressText(progress, dailyProduction)).toBe('120 of 200 wells, 120,000 rows, 2,000 rows/s, 40 s left');
  });

  test('of a file that failed stays where it was: it was not read to its end', () => {
    const { stream, text } = outlet();
    const display = createProgressDisplay(outputTo(stream), networkPipes);
    const { progress, atMs } = sample(0, 1, 0);
    display.show({ progress: { ...progress, units: 1 }, atMs });
    display.show({ progress: { ...progress, units: 1, state: 'failed' }, atMs });
    expect(text()).toBe('');
    display.show({ progress: { ...progress, units: 1, state: 'done' }, atMs });
    expect(text()).toContain('0 rows');
  });

  test('of a unit under way counts the part that is done, its rows and its rejects', () => {
    const at = (atMs: number, done: number): ProgressSample => {
      const { progress } = sample(atMs, 0, 0);
      const counts = { rows: done * 10, rejectedByUs: done / 100, failed: 1 };
      const underWay = [{ unit: 0, done, whole: 1_000, counts, attempt: 1 }];
      return { atMs, progress: { ...progress, units: 1, counts, underWay } };
    };
    const progress = progressOf(at(0, 100), at(1_000, 300), networkPipes);
    expect(progressText(progress, networkPipes)).toBe('3,000 rows, 4 rejected, 2,000 rows/s, 4 s left');
  });

  test('of wells that were read and not merged yet moves: their rows count, and most of their part of the bar', () => {
    const at = (atMs: number, reading: ProgressSample['progress']['reading']): ProgressSample => {
      const { progress } = sample(atMs, 0, 0);
      return { atMs, progress: { ...progress, units: 10, reading } };
    };
    const begun = at(0, []);
    const half = at(2_000, [
      { unit: 0, rows: 1_000, expectedRows: 2_000, isRead: false },
      { unit: 1, rows: 3_000, expectedRows: 2_000, isRead: true },
      { unit: 2, rows: 10, isRead: false },
    ]);
    expect(doneUnitsOf(half.progress)).toBeCloseTo(1.35);
    const progress = progressOf(begun, half, dailyProduction);
    expect(progressText(progress, dailyProduction)).toMatch(
      /^0 of 10 wells \(1 more read\), 4,010 rows, 2,005 rows\/s/,
    );
  });

  test('has no pace before anything has moved', () => {
    const progress = progressOf(sample(0, 0, 0), sample(500, 0, 0), dailyProduction);
    expect(progressText(progress, dailyProduction)).toBe('0 of 200 wells, 0 rows');
  });

  test('is a bar on a terminal, and a remark does not get lost in it', () => {
    const { stream, text } = outlet();
    const display = createProgressDisplay(outputTo(stream), dailyProduction);
    display.show(sample(0, 50, 500));
    display.remark('Redis does not answer');
    display.end();
    const shown = text();
    expect(shown).toContain('█');
    expect(shown).toContain('25%  50 of 200 wells, 500 rows');
    expect(shown).toContain('\r\u001B[KRedis does not answer\n');
  });

  test('is cleared before a message of any part of the command, and drawn again below it', () => {
    const { stream, text } = outlet();
    const output = outputTo(stream);
    const display = createProgressDisplay(output, dailyProduction);
    display.show(sample(0, 50, 500));
    text();
    output.say('Stopping');
    const shown = text();
    expect(shown.startsWith('\r\u001B[KStopping\n')).toBe(true);
    expect(shown.slice(shown.indexOf('Stopping'))).toContain('50 of 200 wells, 500 rows');
    display.end();
  });

  test.each([60, 80, 120])('fills a line of %i columns with whole parts at most', (width) => {
    const parts = ['1,814 of 200,000 wells', '1,234,567 rows', '12 rejected', '15,814 rows/s', '1 min 26 s left'];
    const line = barLine(parts, 0.255, width);
    expect(line.length).toBeLessThan(width);
    expect(line).toMatch(/^█+░+ +25% {2}1,814 of 200,000 wells/);
    expect(parts.some((part) => line.endsWith(part))).toBe(true);
  });

  test.each([
    [999, 10_000],
    [50_000, 900],
  ])('has no speed for %i rows in %i ms', (rows, elapsedMs) => {
    expect(paceOf(rows, elapsedMs)).toBeUndefined();
  });
});

test.each([
  [0, '0.0 s', '0 s'],
  [59_940, '59.9 s', '1 min 00 s'],
  [59_960, '1 min 00 s', '1 min 00 s'],
  [125_000, '2 min 05 s', '2 min 05 s'],
  [3_725_000, '1 h 02 min', '1 h 02 min'],
])('%d ms read %s, and roughly %s', (durationMs, exact, rough) => {
  expect([durationText(durationMs), roughDurationText(durationMs)]).toEqual([exact, rough]);
});
