/** How the progress of a run is reckoned, and shown on a terminal and in a log file. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createProgressDisplay } from '../../src/cli/progress-display.ts';
import { progressOf, progressText, type Sighting } from '../../src/cli/run-progress.ts';
import { unitWordsOf } from '../../src/cli/run-words.ts';
import { durationText, roughDurationText } from '../../src/cli/words.ts';

const wells = unitWordsOf('export daily-production');

function sighting(atMs: number, settledUnits: number, read: number): Sighting {
  const board = {
    state: 'running',
    round: 0,
    queue: 'export',
    units: 200,
    settledUnits,
    counts: { read },
    underWay: [],
    chunks: 2,
    chunksAdded: 2,
    chunksEnded: 0,
    halt: undefined,
    movedAtMs: atMs,
  } as const;
  return { board, atMs };
}

/** What a stream was given, and whether it is to be taken for a terminal of 100 columns. */
function outlet(isTTY: boolean) {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 100 });
  return { stream, text: () => String(stream.read() ?? '') };
}

describe('progress', () => {
  test('is paced from the first look, so that a run that was half done is not taken for a fast one', () => {
    const progress = progressOf(sighting(0, 100, 100_000), sighting(10_000, 120, 120_000));
    expect(progress).toEqual({
      units: 200,
      settledUnits: 120,
      rows: 120_000,
      rejected: 0,
      rowsPerSecond: 2_000,
      leftMs: 40_000,
    });
    expect(progressText(progress, wells)).toBe('120 of 200 wells, 120,000 rows, 2,000 rows/s, 40 s left');
  });

  test('of a file that failed stays where it was: it was not read to its end', () => {
    const { stream, text } = outlet(false);
    const display = createProgressDisplay(stream, unitWordsOf('push network-pipes'));
    const { board, atMs } = sighting(0, 1, 0);
    display.show({ board: { ...board, units: 1 }, atMs });
    display.show({ board: { ...board, units: 1, state: 'failed' }, atMs });
    expect(text()).toBe('');
    display.show({ board: { ...board, units: 1, state: 'done' }, atMs });
    expect(text()).toContain('0 rows');
  });

  test('of a unit under way counts the part that is done, its rows and its rejects', () => {
    const at = (atMs: number, done: number): Sighting => {
      const { board } = sighting(atMs, 0, 0);
      const counts = { rows: done * 10, rejectedByUs: done / 100, failed: 1 };
      const underWay = [{ unit: 0, done, whole: 1_000, counts, attempt: 1 }];
      return { atMs, board: { ...board, units: 1, counts, underWay } };
    };
    const progress = progressOf(at(0, 100), at(1_000, 300));
    expect(progressText(progress, unitWordsOf('push network-pipes'))).toBe(
      '3,000 rows, 4 rejected, 2,000 rows/s, 4 s left',
    );
  });

  test('has no pace before anything has moved', () => {
    const progress = progressOf(sighting(0, 0, 0), sighting(500, 0, 0));
    expect(progressText(progress, wells)).toBe('0 of 200 wells, 0 rows');
  });

  test('is a line now and then where no terminal is, and only when something changed', () => {
    const { stream, text } = outlet(false);
    const display = createProgressDisplay(stream, wells);
    for (const [atMs, settled] of [
      [10_000, 1],
      [11_000, 2],
      [16_000, 2],
      [17_000, 3],
      [30_000, 3],
      [31_000, 200],
    ] as const) {
      display.show(sighting(atMs, settled, settled * 10));
    }
    display.end();
    expect(
      text()
        .split('\n')
        .map((line) => line.split(',')[0]),
    ).toEqual(['1 of 200 wells', '2 of 200 wells', '3 of 200 wells', '200 of 200 wells', '']);
  });

  test('is a bar on a terminal, and a remark does not get lost in it', () => {
    const { stream, text } = outlet(true);
    const display = createProgressDisplay(stream, wells);
    display.show(sighting(0, 50, 500));
    display.note('Redis does not answer');
    display.end();
    const shown = text();
    expect(shown).toContain('█');
    expect(shown).toContain('25%  50 of 200 wells, 500 rows');
    expect(shown).toContain('\r\u001B[KRedis does not answer\n');
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
