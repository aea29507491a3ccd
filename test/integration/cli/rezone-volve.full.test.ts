/** A rezone of real production, there and back. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { loadDailyFile } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { databaseOfTest } from '../../support/postgres/database.ts';

const volveFile = path.resolve('../shared/data/volve_daily_production.ndjson');
const lack = existsSync(volveFile) ? undefined : 'the Volve data is not beside this checkout (../shared/data)';

async function asked<T>(home: CliHome, sql: string): Promise<readonly T[]> {
  return JSON.parse((await home.here(['query', sql, '--json'])).stdout) as readonly T[];
}

const zone = (home: CliHome, timeZone: string): Promise<string> =>
  home.write('wellsync.yaml', `timeZone: ${timeZone}\n`);

test.for(['duckdb', 'postgres'] as const)(
  'the rezone of Volve on %s, to Chicago and back, gives the first rows again',
  async (engine, { skip }) => {
    skip(lack !== undefined, lack);
    const data = await loadDailyFile(volveFile);
    await using server = await startTestingServer({ data });
    const database = engine === 'postgres' ? await databaseOfTest() : undefined;
    await using home = await cliHome(server.url, database === undefined ? {} : { warehouseUrl: database.url });
    const wells = await home.write('wells.csv', `uwi\n${data.uwis.join('\n')}\n`);
    const run = ['export', 'daily-production', '--wells', wells, '--inline', '--config'];
    expect((await home.here([...run, await zone(home, 'UTC')])).code).toBe(0);
    const all = 'SELECT * FROM daily_production ORDER BY uwi, date, xid';
    const before = await asked<{ production_day: string }>(home, all);
    const chicago = await zone(home, 'America/Chicago');
    const there = await home.here(['warehouse', 'rezone', '--yes', '--json', '--config', chicago]);
    expect(JSON.parse(there.stdout)).toMatchObject({ rows: before.length, otherDay: before.length, isUnderWay: false });
    const moved = await asked<{ production_day: string }>(home, all);
    const dayBefore = (day: string): string => new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10);
    expect(moved.map((row) => row.production_day)).toEqual(before.map((row) => dayBefore(row.production_day)));
    const back = await home.here(['warehouse', 'rezone', '--yes', '--config', await zone(home, 'UTC')]);
    expect(back.code).toBe(0);
    expect(await asked(home, all)).toEqual(before);
  },
);
