/** The commands on a warehouse in PostgreSQL, of a role with the rights that docs/postgres.md names. */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { databaseOfRole, postgresLack, readerOf } from '../../support/postgres/database.ts';

const lack = await postgresLack('newest');
const daysOf = ['--from', '2024-01-01', '--to', '2024-03-01'];

async function exported(home: CliHome, ...flags: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const state = await fetch(`${home.env['WELLSYNC_SERVICE_URL']}/testing/state`);
  const { wells } = (await state.json()) as { wells: readonly string[] };
  const names = wells.flatMap((uwi) => ['--uwi', uwi]);
  const run = await home.here(['export', 'daily-production', ...names, ...daysOf, ...flags, '--inline', '--json']);
  expect(run.code, run.stderr).toBe(0);
  return JSON.parse(run.stdout) as Readonly<Record<string, unknown>>;
}

async function contentOf(home: CliHome): Promise<readonly string[]> {
  const queries = [
    'SELECT * FROM daily_production ORDER BY uwi, date, xid',
    'SELECT uwi, from_day, to_day FROM coverage ORDER BY uwi, from_day',
    'SELECT uwi, watermark, last_day FROM watermark ORDER BY uwi',
  ];
  const answers = await Promise.all(queries.map(async (sql) => home.here(['query', sql, '--ndjson'])));
  for (const { code, stderr } of answers) expect(code, stderr).toBe(0);
  // Runs have ids of their own, and times.
  return answers.map(({ stdout }) =>
    stdout.replaceAll(/,"(?:inserted_run_id|changed_run_id|changed_at)":"[^"]*"/g, ''),
  );
}

function findingOf(stdout: string, part: string): Readonly<Record<string, unknown>> | undefined {
  const { findings } = JSON.parse(stdout) as { readonly findings: ReadonlyArray<Readonly<Record<string, unknown>>> };
  return findings.find((finding) => finding['part'] === part);
}

describe.skipIf(lack !== undefined)(`a warehouse in PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  test('G1, G2: holds after an export what a DuckDB file holds, and after a second one no more', async () => {
    await using server = await startTestingServer({
      data: generatedDaily({ seed: 5, wells: 12, fromDay: '2024-01-01', toDay: '2024-03-01' }),
    });
    const { url } = await databaseOfRole();
    await using inPostgres = await cliHome(server.url, { warehouseUrl: url });
    await using inFile = await cliHome(server.url);
    const reports = [await exported(inPostgres), await exported(inFile)];
    expect(reports[0]).toMatchObject({ counts: reports[1]?.['counts'], balance: { balanced: true } });
    const content = await contentOf(inPostgres);
    expect(content[0]?.split('\n').length).toBeGreaterThan(500);
    expect(content).toEqual(await contentOf(inFile));
    expect(await exported(inPostgres)).toMatchObject({ counts: { inserted: 0, updated: 0, removed: 0 } });
    expect(await contentOf(inPostgres)).toEqual(content);
    for (const command of [
      'coverage',
      'runs list',
      'warehouse info',
      'restatements --since 2024-01-01',
      'doctor',
      'prune --dry-run',
    ]) {
      const { code, stderr, stdout } = await inPostgres.here(command.split(' '));
      expect([command, code], `${stderr}${stdout}`).toEqual([command, command === 'doctor' ? expect.any(Number) : 0]);
    }
  });

  test('is put in order and copied by nothing of wellsync, and says so', async () => {
    await using server = await startTestingServer({
      data: generatedDaily({ seed: 5, wells: 2, fromDay: '2024-01-01', toDay: '2024-03-01' }),
    });
    const { url } = await databaseOfRole();
    await using home = await cliHome(server.url, { warehouseUrl: url });
    await exported(home);
    const { code, stdout } = await home.here(['warehouse', 'optimize']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('lie in order')]);
    const copied = await home.here(['warehouse', 'backup', `${home.folder}/copy`]);
    expect(copied.code).toBe(2);
    expect(copied.stderr).toMatch(/pg_dump/);
  });

  test('G1, G2: takes the place of a DuckDB file that was copied to it', async () => {
    await using server = await startTestingServer({
      data: generatedDaily({ seed: 5, wells: 4, fromDay: '2024-01-01', toDay: '2024-03-01' }),
    });
    const { url } = await databaseOfRole();
    await using inFile = await cliHome(server.url);
    await exported(inFile);
    const content = await contentOf(inFile);
    const from = `duckdb:${inFile.warehouseFile}`;
    const copied = await inFile.here(['warehouse', 'copy', from, url]);
    expect(copied.code, copied.stderr).toBe(0);
    expect(copied.stdout).toMatch(/internal\.daily_production +\d+ [^]*both warehouses hold the same/);
    expect(copied.stderr).toMatch(/Copied (\d+) of \1 rows of internal\.daily_production\.[^]*Compared \S+: \1 rows\./);
    await using inPostgres = await cliHome(server.url, { warehouseUrl: url });
    expect(await contentOf(inPostgres)).toEqual(content);
    expect(await exported(inPostgres)).toMatchObject({ counts: { inserted: 0, updated: 0, removed: 0 } });
    const again = await inFile.here(['warehouse', 'copy', from, url]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/is not empty/)]);
    const toFile = await inFile.here(['warehouse', 'copy', url, 'duckdb:x']);
    expect([toFile.code, toFile.stderr]).toEqual([2, expect.stringMatching(/to PostgreSQL alone/)]);
  });

  test('G10: lets a reader ask all that is for readers, by the rights that the documents name, and write nothing', async () => {
    await using server = await startTestingServer({
      data: generatedDaily({ seed: 5, wells: 2, fromDay: '2024-01-01', toDay: '2024-03-01' }),
    });
    const database = await databaseOfRole();
    await using home = await cliHome(server.url, { warehouseUrl: database.url });
    await exported(home);
    await using reader = await cliHome(server.url, { warehouseUrl: await readerOf(database) });
    expect(await contentOf(reader)).toEqual(await contentOf(home));
    const tables = ['daily_production_history', 'quarantine', 'time_series', 'well', 'warehouse', 'schema_version'];
    const asked = [...tables, 'daily_production_as_known(now())'].map((from) => `SELECT count(*) AS n FROM ${from}`);
    for (const sql of asked) {
      const [whole, read] = [await home.here(['query', sql, '--csv']), await reader.here(['query', sql, '--csv'])];
      expect([read.code, read.stdout], `${sql}: ${read.stderr}`).toEqual([0, whole.stdout]);
    }
    const known = await reader.here(['query', asked.at(-1) ?? '', '--csv']);
    expect(known.stdout).toMatch(/^n\r?\n[1-9]\d+/);
    for (const sql of ['SELECT count(*) FROM run', 'SELECT count(*) FROM internal.daily_production']) {
      const { code, stderr } = await reader.here(['query', sql]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/permission denied/)]);
    }
  });

  test.each([
    ['CREATE ON SCHEMA public', 'permission denied for schema public'],
    ['CREATE ON DATABASE', 'permission denied for database'],
    ['TEMPORARY ON DATABASE', 'permission denied to create temporary tables'],
  ])('is tried by the doctor before it is there: %s', async (right, words) => {
    const { url, name, role, run } = await databaseOfRole();
    await using home = await cliHome('http://127.0.0.1:9', { warehouseUrl: url });
    const able = await home.here(['doctor', '--json']);
    expect(findingOf(able.stdout, 'warehouse')).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/not there yet/),
    });
    await run(`REVOKE ${right.replace(/DATABASE$/, `DATABASE ${name}`)} FROM ${role}`);
    const unable = await home.here(['doctor', '--json']);
    expect(unable.code).toBe(5);
    expect(findingOf(unable.stdout, 'warehouse')).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(words),
      hint: expect.stringMatching(/docs\/postgres\.md/),
    });
    expect(await run(`SELECT 1 FROM pg_tables WHERE schemaname IN ('public', 'internal')`)).toEqual([]);
  });

  test.each([
    ['does not answer', `postgres://etl@127.0.0.1:1/production`],
    ['is not usable', `postgres://etl@127.0.0.1:99999/production`],
  ])('keeps the doctor from no other check where it %s', async (words, warehouseUrl) => {
    await using server = await startTestingServer({
      data: generatedDaily({ seed: 5, wells: 2, fromDay: '2024-01-01', toDay: '2024-03-01' }),
    });
    await using home = await cliHome(server.url, { warehouseUrl });
    const { code, stdout } = await home.here(['doctor', '--json']);
    expect(code).toBe(5);
    expect(findingOf(stdout, 'warehouse')).toMatchObject({ status: 'failed', message: expect.stringContaining(words) });
    for (const part of ['redis', 'service', 'access', 'disk']) {
      expect([part, findingOf(stdout, part)?.status]).toEqual([part, expect.stringMatching(/ok|warning/)]);
    }
  });

  test('is not made by a command that only reads', async () => {
    const { url, run } = await databaseOfRole();
    await using home = await cliHome('http://127.0.0.1:9', { warehouseUrl: url });
    for (const command of [['coverage'], ['runs', 'list'], ['query', 'SELECT 1'], ['warehouse', 'info']]) {
      const { code, stderr } = await home.here(command);
      expect([command, code]).toEqual([command, 5]);
      expect(stderr).toMatch(/there is no warehouse in postgres:\/\/\S+ yet/);
    }
    expect(await run(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
  });

  test('G10: takes its password from a file, and shows it nowhere', async () => {
    const password = 'a secret, with "signs" & %41';
    const { url, run } = await databaseOfRole(password);
    await using home = await cliHome('http://127.0.0.1:9');
    const file = await home.write('password', `${password}\n`);
    const named = { WELLSYNC_WAREHOUSE: url, WELLSYNC_WAREHOUSE_PASSWORD_FILE: file };
    const doctor = await home.here(['doctor', '--json'], { env: named });
    expect(doctor.stdout).toMatch(/not there yet: the first run makes it/);
    await home.write('password', 'another one, which is wrong');
    const refused = await home.here(['runs', 'list', '--json'], { env: named });
    expect(refused.code).toBe(5);
    expect(refused.stderr).toMatch(/does not let \S+ in/);
    const inAddress = url.replace('@', `:${encodeURIComponent('a third one, wrong')}@`);
    const alsoRefused = await home.here(['runs', 'list'], { env: { WELLSYNC_WAREHOUSE: inAddress } });
    expect(alsoRefused.code).toBe(5);
    const said = [doctor, refused, alsoRefused].map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(said).not.toMatch(/a secret|another one|third one|third%20one/);
    expect(await readFile(file, 'utf8')).toContain('another');
    expect(await run('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});
