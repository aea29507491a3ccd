import { createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { measureFields } from '../../../src/core/daily/row.ts';
import { loadDailyFile } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';

const volveFile = path.resolve('../shared/data/volve_daily_production.ndjson');
const lack = existsSync(volveFile) ? undefined : 'the Volve data is not beside this checkout (../shared/data)';

type SourceRecord = Readonly<Record<string, unknown>> & { readonly uwi: string; readonly date: string };

describe('the daily production of the Volve field', () => {
  it.for([
    { pageBase: 0, way: 'by --inline' },
    { pageBase: 1, way: 'by a worker that --wait follows' },
  ] as const)(
    'G1, G2: page base $pageBase, $way: every value is equal to the source, and the same again changes nothing',
    async ({ pageBase, way }, { skip }) => {
      skip(lack !== undefined, lack);
      await using server = await startTestingServer({
        pageBase,
        maxLimit: 500,
        data: await loadDailyFile(volveFile),
      });
      await using home = await cliHome(server.url);
      const source = await readSource();
      const wells = await home.write('wells.csv', csvOf([...new Set(source.map((record) => record.uwi))]));
      const follow = way === 'by --inline' ? '--inline' : '--wait';
      if (follow === '--wait') await startWorker(home);

      const args = [
        'export',
        'daily-production',
        '--wells',
        wells,
        '--from',
        '2007-01-01',
        '--to',
        '2017-01-01',
        follow,
        '--json',
      ];
      const first = await home.run(args);
      expect(first.code, first.stderr).toBe(0);
      expect(JSON.parse(first.stdout)).toMatchObject({ state: 'done', counts: { inserted: 15_634, quarantined: 0 } });

      await expectEqual(home, source);
      const again = await home.run(args);
      expect(JSON.parse(again.stdout)).toMatchObject({
        state: 'done',
        balance: { balanced: true },
        counts: { inserted: 0, updated: 0, removed: 0, unchanged: 15_634 },
      });
    },
  );
});

async function startWorker(home: CliHome): Promise<void> {
  await home.start(['worker']).hears('export');
}

function csvOf(uwis: readonly string[]): string {
  return ['uwi', ...uwis.map((uwi) => `"${uwi}"`)].join('\n');
}

async function readSource(): Promise<readonly SourceRecord[]> {
  const records: SourceRecord[] = [];
  for await (const line of createInterface({ input: createReadStream(volveFile) })) {
    if (line !== '') records.push(JSON.parse(line) as SourceRecord);
  }
  return records;
}

/** Compares row by row and field by field: an absent field of the source is null, an absent required number is 0. */
async function expectEqual(home: CliHome, source: readonly SourceRecord[]): Promise<void> {
  const columns = measureFields.map(({ column }) => column).join(', ');
  const query = `SELECT uwi, date, production_day, extras, ${columns} FROM daily_production ORDER BY uwi, date`;
  const answer = await home.run(['query', query, '--json']);
  const rows = JSON.parse(answer.stdout) as ReadonlyArray<Readonly<Record<string, unknown>>>;
  expect(rows).toHaveLength(source.length);
  const expected = source.toSorted((left, right) => compare(left.uwi, right.uwi) || compare(left.date, right.date));
  const differing = expected.filter((record, place) => !isSame(record, rows[place] ?? {}));
  expect(differing).toEqual([]);
}

function isSame(record: SourceRecord, row: Readonly<Record<string, unknown>>): boolean {
  const isSameDay = row['uwi'] === record.uwi && row['production_day'] === record.date.slice(0, 10);
  const isSameInstant = Date.parse(String(row['date'])) === Date.parse(record.date);
  const differs = measureFields.find(
    ({ name, column, required }) => row[column] !== (record[name] ?? (required ? 0 : null)),
  );
  return isSameDay && isSameInstant && differs === undefined && row['extras'] === null;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
