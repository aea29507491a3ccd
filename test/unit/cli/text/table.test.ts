/** Tables and maps of a terminal keep their columns aligned, in any script. */
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import type { MonthCoverage } from '../../../../src/app/wells/coverage.ts';
import { heatMap } from '../../../../src/cli/commands/coverage-text.ts';
import { fitColumns, tableText } from '../../../../src/cli/text/table.ts';

/**
 * Two columns a grapheme; an emoji of newer Unicode; four code points in one grapheme; a letter with a combining mark; a name of a
 * file on macOS, in parts; and a character without a width within a word.
 */
const names = ['井戸', '🪫', '👩‍🔧', 'e\u0301', '우물'.normalize('NFD'), 'a\u200Bb', 'well'];

/** Columns of the terminal before the last grapheme of a line. */
const startOf = (line: string): number => stringWidth(line) - 1;

describe('a table', () => {
  test.each([40, 60, 80])('is no wider than %i columns, wrapped at words', (width) => {
    const words = 'No worker is running for these queues, and nothing is lost';
    const text = tableText(
      [{ head: 'part' }, { head: 'rows', align: 'right' }, {}],
      [['workers', '12', words]],
      '',
      width,
    );
    const lines = text.split('\n');
    expect(lines.every((line) => stringWidth(line) <= width)).toBe(true);
    expect(
      lines
        .slice(2)
        .map((line) => line.slice(15))
        .join(' '),
    ).toBe(words);
    expect(lines[2]).toMatch(/^workers {4}12 {2}No worker/);
  });

  test('aligns cells by what a terminal shows of them', () => {
    const text = tableText(
      [{}, {}],
      names.map((name) => [name, '|']),
    );
    expect(text.split('\n').map(startOf)).toEqual(names.map(() => 6));
  });

  test('aligns to the right by the same', () => {
    const text = tableText(
      [{ head: 'name', align: 'right' }],
      names.map((name) => [name]),
    );
    expect(text.split('\n').map((line) => stringWidth(line))).toEqual(['name', '────', ...names].map(() => 4));
  });

  test('shows control characters, and leaves no blanks at the end of a line', () => {
    expect(tableText([{}, {}], [['a\nb', '\u001B[31m']])).toBe('a\\nb  \\u001b[31m');
    expect(
      tableText(
        [{}, {}],
        [
          ['long', ''],
          ['s', 'x'],
        ],
        '  ',
      ),
    ).toBe('  long\n  s     x');
  });
});

describe('a table that is wider than the terminal', () => {
  test('cuts no sign in half', () => {
    const { cells } = fitColumns([['🪫'.repeat(30)], ['井'.repeat(30)], ['e\u0301'.repeat(50)]], 21);
    expect(cells.flat()).toEqual([`${'🪫'.repeat(10)}…`, `${'井'.repeat(10)}…`, `${'e\u0301'.repeat(20)}…`]);
  });

  test('keeps to the width with signs of two columns that do not fill it', () => {
    const { cells } = fitColumns([['井'.repeat(30)]], 20);
    expect(stringWidth(cells[0]?.[0] ?? '')).toBe(19);
  });

  test('looks at no more of a document than can be shown', () => {
    const { cells } = fitColumns([['x'.repeat(5_000_000)]], 80);
    expect(cells[0]?.[0]).toBe(`${'x'.repeat(39)}…`);
  });
});

describe('a heat map', () => {
  const sums = { asked: 31, present: 31, quarantined: 0, missing: 0, neverRead: 0 };
  const january: MonthCoverage = { month: '2024-01-01', ...sums };

  test('begins the months of every well in the same column', () => {
    const { lines } = heatMap(
      names.map((name) => ({ name, months: [january] })),
      80,
    );
    expect(lines.slice(1).map(startOf)).toEqual(names.map(() => 6));
  });

  test('cuts a long name between its signs', () => {
    const { lines } = heatMap([{ name: '井'.repeat(40), months: [january] }], 80);
    expect(lines[1]).toBe(`${'井'.repeat(11)}…  █`);
  });
});
