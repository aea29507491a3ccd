/** `wellsync query`: files by their ending, and forms for programs and for rows of many columns. */
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

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
const at = (name: string): string => path.join(home.folder, name);

/** One row with a value of each kind that prints in a form of its own. */
const kinds = `SELECT '' AS empty, NULL AS none, 'a,"b"' AS text, TIMESTAMPTZ '2024-02-29 12:00:00.5+00' AS instant,
  TIMESTAMP '2024-02-29 12:00:00' AS local, INTERVAL 3 DAY AS span, [1, 2] AS list, 1.50::DECIMAL(9,2) AS amount,
  1 AS x, 2 AS x -- the last line may be a comment;`;
const head = 'empty,none,text,instant,local,span,list,amount,x,x_2';
const cells = '"",,"a,""b""",2024-02-29T12:00:00.5Z,2024-02-29T12:00:00,3 days,"[1,2]",1.50,1,2';

describe('a file of --output', () => {
  test('is CSV, with null apart from the empty text, as --csv prints it', async () => {
    const { stdout, stderr, code } = await ask(kinds, '--output', at('kinds.csv'));
    expect(stderr).toBe('');
    expect(stdout).toBe(`1 row written to ${at('kinds.csv')} (${Buffer.byteLength(`${head}\n${cells}\n`)} bytes).\n`);
    expect(await readFile(at('kinds.csv'), 'utf8')).toBe(`${head}\n${cells}\n`);
    expect((await ask(kinds, '--csv')).stdout).toBe(`${head}\n${cells}\n`);
    expect(code).toBe(0);
  });

  test('is compressed where its name ends in .gz', async () => {
    await ask('SELECT 1 AS x;', '--output', at('x.csv.gz'));
    await ask('SELECT 1 AS x', '--output', at('x.ndjson.gz'));
    expect(gunzipSync(await readFile(at('x.csv.gz'))).toString()).toBe('x\n1\n');
    expect(gunzipSync(await readFile(at('x.ndjson.gz'))).toString()).toBe('{"x":1}\n');
  });

  test('says the units of columns by their names: Parquet in its metadata, CSV in its header where it is asked to', async () => {
    const sql = 'SELECT uwi, oil_rate, oil_rate AS oil, choke AS "__proto__" FROM daily_production LIMIT 1';
    await ask(sql, '--output', at('units.parquet'));
    const metadata = parquetMetadata(new Uint8Array(await readFile(at('units.parquet'))).buffer);
    const found = metadata.key_value_metadata?.find(({ key }) => key === 'units')?.value ?? '';
    expect(JSON.parse(found)).toMatchObject({ oil_rate: 'bbl/d', choke: '1/64 in', esp_vibration: 'unknown' });
    await ask(sql, '--output', at('units.csv'), '--units');
    const heads = 'uwi,oil_rate [bbl/d],oil,__proto__';
    expect((await readFile(at('units.csv'), 'utf8')).split('\n')[0]).toBe(heads);
    expect((await ask(sql, '--csv', '--units')).stdout.split('\n')[0]).toBe(heads);
    expect((await ask(sql, '--csv')).stdout.split('\n')[0]).toBe('uwi,oil_rate,oil,__proto__');
    const months = 'SELECT uwi, oil, hours_on FROM monthly_production';
    expect((await ask(months, '--csv', '--units')).stdout.split('\n')[0]).toBe('uwi,oil [bbl],hours_on [h]');
    expect(await ask(sql, '--output', at('units.ndjson'), '--units')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no header for units'),
    });
    expect((await ask(sql, '--units')).stderr).toContain('--units needs --csv or --output');
  });

  test('is NDJSON with the values that --ndjson prints', async () => {
    await ask(kinds, '--output', at('kinds.ndjson'));
    const inFile = JSON.parse(await readFile(at('kinds.ndjson'), 'utf8')) as unknown;
    expect(inFile).toEqual(JSON.parse((await ask(kinds, '--ndjson')).stdout));
    expect(inFile).toMatchObject({ empty: '', none: null, span: '3 days', amount: '1.50', x_2: 2 });
  });

  test('is Parquet, in the order of the statement, and --json describes it', async () => {
    const sql = 'SELECT * FROM daily_production ORDER BY oil_rate DESC';
    const { stdout } = await ask(sql, '--output', at('daily.parquet'), '--json');
    const bytes = (await stat(at('daily.parquet'))).size;
    expect(JSON.parse(stdout)).toEqual({ file: at('daily.parquet'), format: 'parquet', rows: 10, bytes });
    const { buffer, byteOffset, byteLength } = await readFile(at('daily.parquet'));
    const file = buffer.slice(byteOffset, byteOffset + byteLength);
    const rows = await parquetReadObjects({ file, compressors, columns: ['oil_rate'] });
    expect(rows.map((row): unknown => row['oil_rate'])).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  test('takes SHOW and DESCRIBE too', async () => {
    await ask('SHOW TABLES', '--output', at('tables.csv'));
    expect(await readFile(at('tables.csv'), 'utf8')).toMatch(/^name\n(?:.+\n)*daily_production\n/);
  });

  test('is never the warehouse, with --overwrite neither', async () => {
    await symlink(home.warehouseFile, at('link.parquet'));
    const { code, stdout, stderr } = await ask('SELECT 1 AS x', '--output', at('link.parquet'), '--overwrite');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('is the warehouse itself: nothing was written');
    expect((await ask('SELECT count(*) AS n FROM daily_production', '--csv')).stdout).toBe('n\n10\n');
  });

  test('is never overwritten without --overwrite', async () => {
    await writeFile(at('mine.csv'), 'mine');
    const refused = await ask('SELECT 1 AS x', '--output', at('mine.csv'));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`${at('mine.csv')} exists: nothing was written`);
    expect(await readFile(at('mine.csv'), 'utf8')).toBe('mine');
    expect((await ask('SELECT 1 AS x', '--output', at('mine.csv'), '--overwrite')).code).toBe(0);
    expect(await readFile(at('mine.csv'), 'utf8')).toBe('x\n1\n');
  });

  test('stays as it was where the query fails on the way, and nothing is left beside it', async () => {
    await writeFile(at('kept.csv'), 'kept');
    const sql = `SELECT CAST(CASE WHEN i = 90000 THEN 'x' ELSE '1' END AS INTEGER) FROM range(100000) r(i)`;
    const { code, stderr } = await ask(sql, '--output', at('kept.csv'), '--overwrite');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('the query has a fault') });
    expect(await readFile(at('kept.csv'), 'utf8')).toBe('kept');
    expect((await readdir(home.folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('gets nothing of another file of its writer', async () => {
    await writeFile(at("it's secret"), 'SECRET');
    const sql = `SELECT content FROM read_text('${at("it's secret").replaceAll("'", "''")}')`;
    for (const name of ["it's.csv", 'secret.parquet']) {
      const { code, stdout, stderr } = await ask(sql, '--output', at(name));
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(`a query reads the warehouse alone: ${at("it's secret")} was not opened`);
    }
    expect((await ask('SELECT 1 AS x', '--output', at("it's.csv"))).code).toBe(0);
    expect(await readFile(at("it's.csv"), 'utf8')).toBe('x\n1\n');
  });

  test.each([
    ['DELETE FROM daily_production', 'x.csv', 'a query can only read'],
    [`SELECT 1) TO '/tmp/other.csv'; SELECT (1`, 'x.csv', 'syntax error'],
    ['SELECT 1; SELECT 2', 'x.csv', 'a query is one statement'],
    ['SELECT 1', 'x.xlsx', 'has no ending that tells the format'],
    ['SELECT 1', 'nowhere/x.csv', 'there is no folder'],
  ])('%s into %s is refused', async (sql, name, words) => {
    const { code, stdout, stderr } = await ask(sql, '--output', at(name));
    expect(stderr).toContain(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(await readdir(home.folder)).not.toContain(name);
  });
});

describe('a form of a query', () => {
  test('--ndjson prints an object a line', async () => {
    const { stdout } = await ask('SELECT i FROM range(2) r(i)', '--ndjson');
    expect(stdout).toBe('{"i":0}\n{"i":1}\n');
  });

  test('--vertical prints a field a line, and says how many rows it leaves out', async () => {
    const { stdout } = await ask(`SELECT i, 'a' AS long_name FROM range(3) r(i)`, '--vertical', '--limit', '1');
    expect(stdout).toBe(
      'row 1\n  i          0\n  long_name  a\n\n(1 row, 2 more rows not shown (--limit, --output, --json))\n',
    );
  });

  test('an interval is text', async () => {
    expect((await ask('SELECT INTERVAL 3 DAY AS span', '--csv')).stdout).toBe('span\n3 days\n');
  });

  test.each([
    ['--csv', '--ndjson'],
    ['--csv', '--json'],
    ['--vertical', '--output=x.csv'],
  ])('%s and %s exclude each other', async (...forms) => {
    const { code, stderr } = await ask('SELECT 1', ...forms);
    expect(stderr).toContain('exclude each other');
    expect(code).toBe(2);
  });
});
