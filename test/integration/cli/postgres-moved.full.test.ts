/** A warehouse that moves: from a file to PostgreSQL by a command that is killed, and from a dump to a new database. */
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { databaseOfRole, postgresLack } from '../../support/postgres/database.ts';

const [fromDay, toDay] = ['2022-01-01', '2024-01-01'];
const wells = 30;

async function exported(home: CliHome): Promise<Readonly<Record<string, unknown>>> {
  const state = await fetch(`${home.env['WELLSYNC_SERVICE_URL']}/testing/state`);
  const { wells: uwis } = (await state.json()) as { wells: readonly string[] };
  const list = await home.write('wells.csv', ['uwi', ...uwis.map((uwi) => `"${uwi}"`)].join('\n'));
  const asked = ['--wells', list, '--from', fromDay, '--to', toDay, '--inline', '--json'];
  const { code, stdout, stderr } = await home.run(['export', 'daily-production', ...asked]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

async function rowsOf(home: CliHome): Promise<string> {
  const sql = 'SELECT * FROM daily_production ORDER BY uwi, date, xid';
  const { code, stdout, stderr } = await home.run(['query', sql, '--ndjson']);
  expect(code, stderr).toBe(0);
  return stdout;
}

const nothingChanged = { counts: { inserted: 0, updated: 0, removed: 0 }, balance: { balanced: true } };

const lack = await postgresLack('newest');

describe.skipIf(lack !== undefined)(`a copy to PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  test('G1, G7: is whole after its command was killed in the middle, twice, and run again', async () => {
    await using server = await startTestingServer({ data: generatedDaily({ seed: 8, wells, fromDay, toDay }) });
    const { url, run } = await databaseOfRole();
    await using inFile = await cliHome(server.url);
    await exported(inFile);
    const content = await rowsOf(inFile);
    await using inPostgres = await cliHome(server.url, { warehouseUrl: url });
    const copy = ['warehouse', 'copy', `duckdb:${inFile.warehouseFile}`, url];
    for (const words of ['Copied 10,000 of ', 'rows of coverage']) {
      const copying = inFile.start(copy);
      await copying.hears(words);
      copying.signal('SIGKILL');
      expect(await copying.ended).toMatchObject({ code: null });
      const early = await inPostgres.run(['query', 'SELECT count(*) FROM daily_production']);
      expect([early.code, early.stderr]).toEqual([5, expect.stringMatching(/is unfinished: it is no warehouse yet/)]);
    }
    const whole = await inFile.run(copy);
    expect(whole.code, whole.stderr).toBe(0);
    expect(whole.stderr).not.toMatch(/Copied 10,000 of/);
    expect(await run(`SELECT to_regclass('internal.copied_table') AS left`)).toEqual([{ left: null }]);
    expect(await rowsOf(inPostgres)).toBe(content);
    expect(await exported(inPostgres)).toMatchObject(nothingChanged);
  });
});

/** Its release is that of the programs, or an older one: they refuse a newer server. */
const dumpLack = (await postgresLack('14')) ?? dumpProgramsLack();

function dumpProgramsLack(): string | undefined {
  try {
    for (const program of ['pg_dump', 'pg_restore']) execFileSync(program, ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'this machine has no pg_dump, of the Debian package postgresql-client';
  }
}

describe.skipIf(dumpLack !== undefined)(`a dump of PostgreSQL${dumpLack === undefined ? '' : ` (${dumpLack})`}`, () => {
  test('G1: is a warehouse in a new database, which the next export adds nothing to', async () => {
    await using server = await startTestingServer({ data: generatedDaily({ seed: 8, wells: 4, fromDay, toDay }) });
    const [first, second] = [await databaseOfRole(undefined, '14'), await databaseOfRole(undefined, '14')];
    await using home = await cliHome(server.url, { warehouseUrl: first.url });
    await exported(home);
    const content = await rowsOf(home);
    const dump = `${home.folder}/warehouse.dump`;
    await promisify(execFile)('pg_dump', ['--format=custom', `--file=${dump}`, first.url]);
    await promisify(execFile)('pg_restore', ['--no-owner', '--no-privileges', `--dbname=${second.url}`, dump]);
    await using restored = await cliHome(server.url, { warehouseUrl: second.url });
    expect(await rowsOf(restored)).toBe(content);
    expect(await exported(restored)).toMatchObject(nothingChanged);
    const audit = await restored.run(['audit', 'verify']);
    expect(audit.code, audit.stderr).toBe(0);
  });
});
