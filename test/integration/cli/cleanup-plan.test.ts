/** Plans of cleanups: what they show, what they refuse, and that they delete nothing. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { cleanupBench, equipment, planIdOf, targetsCsv, well } from '../../support/cleanup-cli.ts';
import { cliHome } from '../../support/cli.ts';
import type { CommandResult } from '../../support/command-result.ts';
import { runHere } from '../../support/cli-here.ts';
import { januaryRows } from '../../support/testing-server-requests.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';

function expectRefusal(result: CommandResult, ...words: readonly string[]): void {
  for (const expected of words) expect(result.stderr).toContain(expected);
  expect(result.stderr).not.toMatch(/^\s+at /m);
  expect(result.stdout).toBe('');
  expect(result.code).toBe(2);
}

describe('a plan', () => {
  test('G6: a plan shows targets, order and warnings, keeps a snapshot, and deletes nothing', async () => {
    await using bench = await cleanupBench();
    const csv = `${targetsCsv}\r\nwellbores,${well},,\r\nmicro-strings,nowhere,,`;
    const { stdout, code } = await bench.run('cleanup', '--file', await bench.home.write('t.csv', csv));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Plan [0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}: delete 5 targets at /);
    expect(stdout).toMatch(/^ {2}1 {2}time series +2 {2}of 1 equipment id$/m);
    expect(stdout).toContain('1 target was named more than once');
    expect(stdout).toContain('micro strings of well nowhere: not known');
    expect(stdout).toContain('Micro strings and wellbores have no documented read');
    expect(stdout).toContain('The service may delete what is below a wellbore as well, and wellsync cannot list that.');
    // The rest of the 24 hours when the text is made: less on a slow machine.
    expect(stdout).toMatch(/^Nothing was deleted\. Apply it within \d+ h \d\d min:\n {2}wellsync cleanup --apply /m);
    expect(bench.server.state.deletions()).toEqual([]);

    expect(
      await bench.ask(
        'SELECT kind, owner_id, source_id, sighting, body IS NOT NULL FROM cleanup_target ORDER BY ordinal',
      ),
    ).toEqual([
      ['time-series', equipment, 'a b', 'present', true],
      ['time-series', equipment, 'ø/1', 'present', true],
      ['micro-strings', well, null, 'present', true],
      ['wellbores', well, null, 'present', true],
      ['micro-strings', 'nowhere', null, 'absent', false],
    ]);
  });

  test('warns of a well that produced lately', async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    const rows = [...januaryRows(3, well), { ...januaryRows(1, well)[0], uwi: well, date: yesterday }];
    await using bench = await cleanupBench({ data: givenDaily(rows) });
    expect((await bench.run('export', 'daily-production', '--uwi', well, '--inline')).code).toBe(0);
    const { stdout } = await bench.run('cleanup', 'wellbores', '--well', well);
    expect(stdout).toContain('1 target belongs to a well that produced lately: refused');
    expect(stdout).toContain(`wellbores of well ${well}: produced on ${yesterday.slice(0, 10)}`);
  });

  test('is made of a query on the warehouse, and by the flags of one kind', async () => {
    await using bench = await cleanupBench();
    await bench.plan();
    const sql =
      "SELECT kind, owner_id AS well, NULL AS equipment, source_id FROM cleanup_target WHERE kind <> 'time-series'";
    expect(await bench.json('cleanup', '--from-query', sql)).toMatchObject({ counts: { targets: 2, wells: 1 } });
    const flags = ['--equipment', equipment, '--source-id', 'a b', '--source-id', 'a b'];
    expect(await bench.json('cleanup', 'time-series', ...flags)).toMatchObject({ counts: { targets: 1, repeated: 1 } });
    const file = await bench.home.write('wells.csv', `name,well\nA,${well}\nB,spared\n`);
    expect(await bench.json('cleanup', 'micro-strings', '--wells', file)).toMatchObject({
      counts: { microStrings: 2 },
    });
  });

  test('of a dry run is not kept', async () => {
    await using bench = await cleanupBench();
    const { stdout } = await bench.run('cleanup', 'wellbores', '--well', well, '--dry-run');
    expect(stdout).toContain('Dry run: the plan was not kept, and nothing was deleted.');
    expect(await bench.json('cleanup', 'plans')).toEqual([]);
  });

  test('has an id of its contents: another time, another id; and is listed and shown by it', async () => {
    await using bench = await cleanupBench();
    const ids = [await bench.plan(), await bench.plan()];
    expect(new Set(ids).size).toBe(2);
    expect(await bench.json('cleanup', 'plans')).toMatchObject([{ planId: ids[1] }, { planId: ids[0] }]);
    expect(await bench.json('cleanup', 'show', ids[0] ?? '')).toMatchObject({
      state: 'planned',
      counts: { targets: 4 },
    });
  });

  test('shows what a well answers in another form, and a record that breaks the contract', async () => {
    await using bench = await cleanupBench({ wellAnswers: 'text' });
    Object.assign(bench.field.equipment[equipment]?.[0] ?? {}, { xid: 7 });
    const { stdout } = await bench.run('cleanup', '--file', await bench.home.write('t.csv', targetsCsv));
    expect(stdout).toContain('2 targets are shown by the service in a form that breaks its contract');
    expect(await bench.ask("SELECT DISTINCT body FROM cleanup_target WHERE kind = 'wellbores'")).toEqual([
      [expect.stringContaining('status: ACTIVE')],
    ]);
  });
});

describe('targets are refused', () => {
  test('with every fault of a file at once, by its line', async () => {
    await using bench = await cleanupBench();
    const csv = 'kind,well,equipment,source_id\npipes,W,,\n\nwellbores,W,E,\nwellbores,right,,\n';
    const result = await bench.run('cleanup', '--file', await bench.home.write('bad.csv', csv));
    expectRefusal(
      result,
      'bad.csv has 2 rows with a fault',
      '  - line 2: the kind "pipes" is none of time-series, micro-strings and wellbores',
      '  - line 4: it names both a well and equipment',
      'Nothing was planned and nothing was deleted.',
    );
  });

  test('where a query finds none, has a fault or lacks a column: nothing never means everything', async () => {
    await using bench = await cleanupBench();
    await bench.plan();
    const ask = (sql: string) => bench.run('cleanup', '--from-query', sql);
    const columns = "'wellbores' AS kind, 'W' AS well, NULL AS equipment, NULL AS source_id";
    expectRefusal(await ask(`SELECT ${columns} WHERE false`), 'the query names no target', 'never means everything');
    expectRefusal(await ask("SELECT 'wellbores' AS kind"), 'the query has no column well, equipment and source_id');
    expectRefusal(await ask(`SELECT ${columns} UNION ALL SELECT 'bores', NULL, NULL, NULL`), 'row 2: the kind "bores"');
    expectRefusal(await ask("SELECT 'wellbores' AS kind, ['W'] AS well"), 'row 1: well is ["W"], and not a text');
    const many = `SELECT ${columns} FROM range(5_000_000)`;
    expectRefusal(await ask(many), 'the query is longer than the 150,000 rows that a list may have');
  });

  test.each([
    ['SELEC 1', 'the query has a fault'],
    ['DELETE FROM cleanup_plan', 'a query can only read'],
    ["COPY (SELECT 1) TO 'stolen.csv'", 'a query can only read'],
    ["ATTACH 'other.duckdb' AS other", 'a query can only read'],
    ['SELECT 1; DELETE FROM cleanup_plan', 'a query is one statement; this holds 2'],
  ])('where the query is %j', async (sql, words) => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    expectRefusal(await bench.run('cleanup', '--from-query', sql), words);
    expect(planIdOf(await bench.json('cleanup', 'show', planId))).toBe(planId);
  });

  test('takes the ids of a query to the last blank, and trims the cells of a file', async () => {
    await using bench = await cleanupBench();
    await bench.plan(`kind,well,equipment,source_id\n wellbores , W , ,\n`);
    await bench.run(
      'cleanup',
      '--from-query',
      "SELECT 'wellbores' AS kind, ' W ' AS well, NULL AS equipment, NULL AS source_id",
    );
    expect(await bench.ask('SELECT owner_id FROM cleanup_target ORDER BY length(owner_id)')).toEqual([['W'], [' W ']]);
  });

  test.each([
    ['UTF-16', Buffer.from('kind,well,equipment,source_id\nwellbores,W,,\n', 'utf16le'), 'is not a text in UTF-8'],
    ['Latin-1', Buffer.from('kind,well,equipment,source_id\nwellbores,Ø,,\n', 'latin1'), 'is not a text in UTF-8'],
    ['nothing', Buffer.alloc(0), 'is empty'],
    ['a header alone', Buffer.from('kind,well,equipment,source_id\n'), 'names no target: it has no row'],
    ['far too much', Buffer.alloc(20_000_000, 'a\n'), 'is longer than the 16 MB that a list may have'],
    ['too many rows', Buffer.alloc(1_000_000, 'a\n'), 'is longer than the 150,000 rows that a list may have'],
  ])('where the file is %s', async (_, content, words) => {
    await using bench = await cleanupBench();
    const file = `${bench.home.folder}/targets.csv`;
    await writeFile(file, content);
    expectRefusal(await bench.run('cleanup', '--file', file), words);
  });

  test.each([
    [['cleanup'], 'nothing is named that should be cleaned up'],
    [['cleanup', 'micro-strings'], 'no well is named'],
    [['cleanup', 'wellbores', '--well', ' '], '--well is empty'],
    [['cleanup', 'time-series', '--equipment', 'E'], 'one --equipment and at least one --source-id'],
    [['cleanup', 'time-series', '--equipment', 'E', '--equipment', 'F', '--source-id', 'S'], 'one --equipment'],
    [['cleanup', '--file', 'a.csv', '--apply', 'x'], 'exclude each other'],
    [['cleanup', 'wellbores', '--well', 'W', '--apply', 'x'], 'stand by themselves'],
    [['cleanup', 'wellbores', '--well', 'W', '--yes'], 'go with --apply'],
    [['cleanup', '--file', 'no-such.csv'], 'there is no such file'],
    [['audit', 'deletions', '--since', 'soon'], '--since "soon" is not a day'],
  ])('%j', async (args, words) => {
    await using home = await cliHome('http://127.0.0.1:1');
    expectRefusal(await runHere(args, home.env), words);
  });

  test('where they pass the caps by number, or by their share of the known wells', async () => {
    await using bench = await cleanupBench({
      data: givenDaily(['a', 'b', 'c', 'd'].flatMap((uwi) => januaryRows(1, uwi))),
    });
    const wells = ['a', 'b', 'c', 'd'].flatMap((uwi) => ['--uwi', uwi]);
    await bench.run('export', 'daily-production', ...wells, '--inline');
    await bench.configure('  maxTargets: 1');
    const two = ['cleanup', 'wellbores', '--well', 'a', '--well', 'b'];
    expectRefusal(await bench.run(...two), '2 targets are more than the 1 that one run may delete');
    await bench.home.write('wellsync.yaml', 'cleanup:\n  maxShareOfWellsPercent: 25\n');
    expectRefusal(await bench.run(...two), '2 wells are 50 % of the 4 that the warehouse knows, more than the 25 %');
    expect(planIdOf(await bench.json('cleanup', 'wellbores', '--well', 'a'))).toMatch(/^[0-9a-f-]{14}$/);
  });
});
