/** `wellsync query`: tables, JSON and CSV from the warehouse, and no changes to it. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fitColumns } from '../../../src/cli/text/table.ts';
import type { TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, program, type CliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

describe('query', () => {
  let server: TestingServer;
  let home: CliHome;

  beforeAll(async () => {
    server = await startWithTenDays();
    home = await cliHome(server.url);
    await home.here(['export', 'daily-production', '--uwi', UWI, '--inline']);
  });

  afterAll(async () => {
    await home[Symbol.asyncDispose]();
    await server.close();
  });

  const ask = async (...args: string[]) => home.here(['query', ...args]);

  test('prints a table whose numbers stand to the right, and says how many rows it leaves out', async () => {
    const { stdout, code } = await ask('SELECT uwi, oil_rate FROM daily_production ORDER BY oil_rate', '--limit', '2');
    expect(stdout.split('\n')).toEqual([
      'uwi         oil_rate',
      '──────────  ────────',
      `${UWI}         1`,
      `${UWI}         2`,
      '(2 rows, 8 more rows not shown (--limit, --output, --json))',
      '',
    ]);
    expect(code).toBe(0);
  });

  test('makes control characters in values visible', async () => {
    const { stdout } = await ask(`SELECT 'a' || chr(10) || chr(27) || '[31m' AS x`);
    expect(stdout).toContain('a\\n\\u001b[31m');
  });

  test('--json prints an array of objects, with columns of one name told apart', async () => {
    const { stdout } = await ask(`SELECT 1 AS x, 2 AS x, NULL AS y, [1, 2] AS z, DATE '2024-02-29' AS d`, '--json');
    expect(JSON.parse(stdout)).toEqual([{ x: 1, x_2: 2, y: null, z: [1, 2], d: '2024-02-29' }]);
    expect(JSON.parse((await ask('SELECT 1 AS x WHERE false', '--json')).stdout)).toEqual([]);
  });

  test('--csv quotes what has to be, and writes null as nothing', async () => {
    const { stdout } = await ask(`SELECT 'a,"b"' AS t, true AS b, NULL AS n, 1.5 AS x`, '--csv');
    expect(stdout).toBe('t,b,n,x\n"a,""b""",true,,1.5\n');
  });

  test('reads the statement from standard input', async () => {
    const { stdout } = await home.here(['query', '-', '--json'], { stdin: 'SELECT 7 AS seven;\n' });
    expect(JSON.parse(stdout)).toEqual([{ seven: 7 }]);
  });

  test.each([
    ['SELEC 1', 'syntax error'],
    ['SELECT * FROM nowhere', 'nowhere'],
    ['DELETE FROM daily_production', 'a query can only read'],
    ['SELECT 1; SELECT 2', 'a query is one statement'],
  ])('%s is refused', async (sql, words) => {
    const { code, stderr, stdout } = await ask(sql);
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test.each([
    (file: string) => `SELECT content FROM read_text('${file}')`,
    (file: string) => `SELECT * FROM read_blob('${file}*')`,
    (file: string) => `FROM '${file}.csv'`,
    (file: string) => `SELECT * FROM glob('${file}*')`,
    (file: string) => `SELECT * FROM sniff_csv('${file}')`,
    (file: string) => `SELECT uwi FROM daily_production WHERE uwi IN (SELECT content FROM read_text('${file}'))`,
  ])('opens no file but the warehouse: %s', async (sql) => {
    const file = path.join(home.folder, 'token');
    await writeFile(file, 'SECRET-8W2');
    await writeFile(`${file}.csv`, 'SECRET-8W2\n1\n');
    const { code, stdout, stderr } = await ask(sql(file), '--csv');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`a query reads the warehouse alone: ${file}`);
    expect(stderr).toContain('wellsync warehouse backup');
    expect(stderr).not.toContain('SECRET');
  });

  test.each(['--csv', '--ndjson', '--json', '--vertical'])(
    '%s tells a fault that comes with the rows',
    async (form) => {
      const sql = `SELECT CAST(CASE WHEN i = 90000 THEN 'x' ELSE '1' END AS INTEGER) AS n FROM range(100000) r(i)`;
      const { code, stderr } = await ask(sql, form);
      expect(stderr).toContain('the query has a fault');
      expect(code).toBe(2);
    },
  );

  test('--csv and --json exclude each other', async () => {
    const { code, stderr } = await ask('SELECT 1', '--csv', '--json');
    expect(stderr).toContain('--csv and --json exclude each other');
    expect(code).toBe(2);
  });

  test('ends quietly when its reader has gone', async () => {
    const script = '{ "$0" "$1" query "FROM range(5000000)" --csv; echo $? > code; } 2> errors | head -n 1';
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, program], {
      cwd: home.folder,
      env: home.env,
    });
    expect(stdout).toBe('range\n');
    expect(await readFile(path.join(home.folder, 'errors'), 'utf8')).toBe('');
    expect(await readFile(path.join(home.folder, 'code'), 'utf8')).toBe('0\n');
  });
});

describe('the columns of a table', () => {
  const cells = [
    ['one', 'two', 'three'],
    ['1', 'a'.repeat(60), '3'],
  ];

  test('are all shown, uncut, where the width has no limit', () => {
    expect(fitColumns(cells, Infinity)).toEqual({ columnCount: 3, cells });
  });

  test('that have no room are left away, and long cells are cut', () => {
    const fitted = fitColumns(cells, 48);
    expect(fitted.columnCount).toBe(2);
    expect(fitted.cells[1]).toEqual(['1', `${'a'.repeat(39)}…`]);
  });

  test('are at least one, however narrow the terminal', () => {
    expect(fitColumns(cells, 2).columnCount).toBe(1);
  });
});
