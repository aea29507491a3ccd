/** Wrong input on the command line or in a file: a sentence, a remedy, exit code 2, and nothing begun. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliHome, cliHome } from '../../support/cli.ts';
import type { CommandResult } from '../../support/command-result.ts';

const exportOf = (...args: string[]): string[] => ['export', 'daily-production', ...args];

function expectRefusal(result: CommandResult, code: number, ...words: readonly string[]): void {
  for (const expected of words) expect(result.stderr).toContain(expected);
  expect(result.stderr).not.toMatch(/^\s+at /m);
  expect(result.stderr).not.toContain('fault of wellsync itself');
  expect(result.stdout).toBe('');
  expect(result.code).toBe(code);
}

function expectNothingBegun(home: CliHome): void {
  expect(existsSync(home.warehouseFile)).toBe(false);
}

describe('wrong words', () => {
  test.each([
    [
      exportOf('--wels', 'x'),
      ["unknown option '--wels'", 'Did you mean --wells?', 'wellsync export daily-production --help'],
    ],
    [exportOf('--wel', 'x'), ["unknown option '--wel' (Did you mean --wells?)"]],
    [exportOf('--nothing-like-it'), ["unknown option '--nothing-like-it'\n"]],
    [['exprt'], ["unknown command 'exprt'", 'Did you mean export?']],
    [['query'], ["missing required argument 'sql'", 'See: wellsync query --help']],
    [exportOf('--uwi', 'A', '--wait', '--inline'), ["'--inline' cannot be used with option '--wait'"]],
    [['runs', 'list', '--limit', 'many'], ['It must be a whole number above 0.']],
    [['runs', 'list', '--since', 'yesterday'], ['--since "yesterday" is not a day or a date-time']],
    [['runs', 'list', '--state', 'lost'], ['Allowed choices are queued, running']],
    [['worker', '--queues', 'export,psh'], ['It must name queues']],
    [['--log-level', 'loud', 'doctor'], ['Allowed choices are trace']],
    [['query', '  '], ['the query is empty']],
  ])('%j is refused with what is wrong and where to look', async (args, words) => {
    await using home = await cliHome();
    expectRefusal(await home.here(args), 2, ...words);
    expectNothingBegun(home);
  });

  test.each([
    [
      ['cleanup', 'run'],
      ['--dry-run', '--inline', '--wait'],
    ],
    [
      ['cleanup', 'wellbores'],
      ['--dry-run', '--allow-empty'],
    ],
    [['cleanup', 'time-series'], ['--dry-run']],
    [['cleanup', 'show'], []],
  ])('the help of %j lists its options %j, and a blank line before those of every command', async (words, flags) => {
    await using home = await cliHome();
    const { stdout } = await home.here([...words, '--help']);
    for (const flag of flags) expect(stdout).toMatch(new RegExp(`^  ${flag} `, 'm'));
    expect(stdout).toMatch(/[^\n]\n\nOptions of every command/);
  });

  test('a group without its command shows its help and ends with 2', async () => {
    await using home = await cliHome();
    const { code, stderr } = await home.here(['runs']);
    expect(stderr).toContain('retry [options] <run>');
    expect(code).toBe(2);
  });

  test('with --json the fault is a document on standard output', async () => {
    await using home = await cliHome();
    const { code, stdout, stderr } = await home.run(exportOf('--from', 'soon', '--uwi', 'A', '--json'));
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'usage',
        message: '--from "soon" is not a day or a date-time',
        hint: expect.any(String),
        action: null,
        issues: [],
      },
    });
    expect(stderr).toContain('--from "soon"');
    expect(code).toBe(2);
  });
});

describe('wrong dates', () => {
  test.each([
    [['--from', '2024-02-30'], '--from "2024-02-30" is not a day'],
    [['--to', '31.03.2024'], '--to "31.03.2024" is not a day'],
    [['--from', '2024-03-02', '--to', '2024-03-01'], '--from 2024-03-02 is not before --to 2024-03-01'],
    [['--from', '2024-03-02', '--to', '2024-03-02'], 'one day is --from 2024-03-01 --to 2024-03-02'],
    [['--from', '2999-01-01'], '--from 2999-01-01 is in the future'],
    [['--to', '1850-01-01'], '--to 1850-01-01 is not after the start of history'],
  ])('%j is refused', async (flags, words) => {
    await using home = await cliHome('http://127.0.0.1:1');
    expectRefusal(await home.here(exportOf('--uwi', 'A', ...flags)), 2, words);
    expectNothingBegun(home);
  });
});

describe('wrong wells', () => {
  test.each([
    ['no-column.csv', 'well;name\nA;B\n', 'no-column.csv has no column uwi: its first line holds "well;name"'],
    ['empty.csv', '', 'empty.csv is empty'],
    ['header.csv', '\uFEFFUWI\r\n', 'header.csv names no well'],
    [
      'open-quote.csv',
      'uwi\n"A\nB"\n\n"C\nD\n',
      'open-quote.csv is not CSV: line 5: a quote is opened in this row and',
    ],
    ['quote.csv', 'uwi\nA"B"\n', 'quote.csv is not CSV: line 2: a quote stands inside a cell'],
    ['text.csv', 'uwi\n"A"B\n', 'text.csv is not CSV: line 2: text follows a closing quote'],
    ['latin1.csv', new Uint8Array([0x75, 0x77, 0x69, 0x0a, 0xe6]), 'latin1.csv is not a text in UTF-8'],
  ])('%s is refused', async (name, content, words) => {
    await using home = await cliHome('http://127.0.0.1:1');
    const file = await home.write(name, content);
    expectRefusal(await home.here(exportOf('--wells', file)), 2, words);
    expectNothingBegun(home);
  });

  test('every row without a uwi is named by its line', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const stdin = 'name,Uwi\none,A\ntwo,\n"three\nlines",B\nfour\n';
    const result = await home.here(exportOf('--wells', '-'), { stdin });
    expectRefusal(result, 2, 'standard input has 2 rows without a uwi', 'line 3: the cell', 'line 6: the cell');
  });

  test('a file that is not there is named', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    const result = await home.here(exportOf('--wells', path.join(home.folder, 'nowhere.csv')));
    expectRefusal(result, 2, 'nowhere.csv cannot be read: there is no such file');
  });

  test('none at all is refused with the three ways to name them', async () => {
    await using home = await cliHome('http://127.0.0.1:1');
    expectRefusal(await home.here(exportOf()), 2, 'no wells are named', '--uwi', '--wells FILE.csv', 'export.wells');
  });
});

describe('a broken configuration', () => {
  test('is told with all its faults at once, each with where it came from', async () => {
    await using home = await cliHome();
    const file = await home.write('broken.yaml', 'timeZone: Oslo\nservice:\n  timeoutMs: -1\n  tokn: secret-word\n');
    const result = await home.here(['runs', 'list', '--config', file], { env: { WELLSYNC_REDIS_URL: 'http://redis' } });
    expectRefusal(
      result,
      2,
      'the configuration has 4 faults',
      'timeZone',
      'service.timeoutMs',
      'service.tokn',
      '(WELLSYNC_REDIS_URL)',
    );
    expect(result.stderr).not.toContain('secret-word');
  });

  test('is told in words that say what a value must be', async () => {
    await using home = await cliHome();
    const push = 'push: { chunkItems: 0, concurrency: 1.5, checkpointMs: soon, chunkBytes: 5, aliases: { Pipe: id } }';
    const file = await home.write('broken.yaml', `${push}\nlogLevel: loud\n`);
    expectRefusal(
      await home.here(['runs', 'list', '--config', file]),
      2,
      `push.chunkItems (${file}, line 1): must be above 0`,
      `push.concurrency (${file}, line 1): must be a whole number`,
      `push.checkpointMs (${file}, line 1): must be a number`,
      `push.chunkBytes (${file}, line 1): must be 1024 or more`,
      `push.aliases.Pipe (${file}, line 1): must be one of sourceNetworkId, sourceId, date`,
      `logLevel (${file}, line 2): must be one of trace, debug`,
    );
  });

  test.each([
    ['a: [', 'is not YAML'],
    ['- 1', 'must hold settings by name'],
  ])('%j is refused as a file', async (content, words) => {
    await using home = await cliHome();
    const file = await home.write('broken.yaml', content);
    expectRefusal(await home.here(['runs', 'list', '--config', file]), 2, words);
  });

  test('that is not there is named', async () => {
    await using home = await cliHome();
    const result = await home.here(['runs', 'list'], {
      env: { WELLSYNC_CONFIG: path.join(home.folder, 'nowhere.yaml') },
    });
    expectRefusal(result, 2, 'nowhere.yaml cannot be read', 'WELLSYNC_CONFIG');
  });
});

describe('wrong options of the testing server', () => {
  test.each([
    [
      ['--option', 'pageBase=2', '--option', 'colour=blue'],
      ['pageBase', 'colour'],
    ],
    [['--option', 'requiredToken=x'], ['WELLSYNC_TESTING_TOKEN']],
    [['--option', 'order'], ['not of the form name=value']],
    [['--fault', 'unavailable=0.9', '--fault', 'reset=0.9'], ['above 1']],
    [['--from', '2024-01-01', '--to', '2023-01-01'], ['--to: must be later than the first day']],
    [
      ['--wells', '300', '--from', '2024-06-01'],
      ['--to: must be later', 'where it is not given, it is 2024-01-01'],
    ],
    [['--daily', 'nowhere.ndjson'], ['nowhere.ndjson cannot be read']],
    [['--daily', 'x.ndjson', '--wells', '3'], ['--daily serves a file']],
  ])('%j is refused', async (flags, words) => {
    await using home = await cliHome();
    expectRefusal(await home.here(['testing-server', '--port', '0', ...flags]), 2, ...words);
  });
});
