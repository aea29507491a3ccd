import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { timeSeries } from '../../../src/core/definitions/record-list.ts';
import { recordsSchemaOf } from '../../../src/service/contract.ts';
import { givenDaily, loadDailyFile } from '../../../src/testing-server/data/daily-source.ts';
import { generatedDaily, generateField } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import {
  dailyUrl,
  januaryRows,
  json,
  ratesOn,
  type ServedRow,
  startWithTenDays,
  statusOf,
  UWI,
} from '../../support/testing-server-requests.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'testing-server-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function fileOf(...lines: string[]): Promise<string> {
  const path = join(folder, 'daily.ndjson');
  await writeFile(path, lines.join('\n'));
  return path;
}

async function readAll(server: TestingServer, uwi: string, firstPage = 1): Promise<ServedRow[]> {
  const rows: ServedRow[] = [];
  for (let page = firstPage; ; page += 1) {
    const served = await json<ServedRow[]>(dailyUrl(server, { page, limit: 1000 }, uwi));
    rows.push(...served);
    if (served.length === 0) return rows;
  }
}

const goodLine = JSON.stringify({ ...januaryRows(1)[0], oilRate: 1 });

describe('daily production from a file', () => {
  it('a file is served with every value as written, without the uwi, and with the same derived xids every time', async () => {
    const line = goodLine.replace('"oilRate":1', '"oilRate":8e-05,"waterRate":38.211669000000001,"downtimeHours":-1');
    const read = async (): Promise<string> => {
      await using server = await startTestingServer({ data: await loadDailyFile(await fileOf(line, '')) });
      const response = await fetch(dailyUrl(server));
      return await response.text();
    };
    const body = await read();
    expect(body).toContain('"oilRate":8e-05,"waterRate":38.211669000000001,"downtimeHours":-1');
    expect(body).not.toContain('uwi');
    expect(body).toMatch(/^\[\{"xid":"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"/);
    expect(await read()).toBe(body);
  });

  it.each([
    ['not JSON', '{"uwi":'],
    ['not an object', '7'],
    ['without a uwi', goodLine.replace('"uwi"', '"well"')],
    ['without a date', goodLine.replace('"date"', '"day"')],
    ['with a null in a required field', goodLine.replace('"oilRate":1', '"oilRate":null')],
    ['with text in place of a number', goodLine.replace('"oilRate":1', '"oilRate":"1"')],
  ])('a line that is %s is refused with file and line', async (_, line) => {
    const path = await fileOf(goodLine, '', line);
    await expect(loadDailyFile(path)).rejects.toThrow(`${path}, line 3: `);
  });

  it('a missing file, a folder and an empty file are refused', async () => {
    await expect(loadDailyFile(join(folder, 'absent'))).rejects.toThrow('cannot be read: ENOENT');
    await expect(loadDailyFile(folder)).rejects.toThrow('cannot be read: EISDIR');
    await expect(loadDailyFile(await fileOf(''))).rejects.toThrow('holds no daily production record');
  });
});

const volve = '../shared/data/volve_daily_production.ndjson';
const lack = existsSync(volve) ? undefined : 'the Volve data is not beside this checkout (../shared/data)';

describe('the Volve field', () => {
  it('the Volve field is served value for value in both page bases', async ({ skip }) => {
    skip(lack !== undefined, lack);
    const lines = (await readFile(volve, 'utf8')).trimEnd().split('\n');
    const inFile = lines.map((line) => JSON.parse(line) as ServedRow & { uwi: string });
    expect(inFile).toHaveLength(15_634);
    await using server = await startTestingServer({ data: await loadDailyFile(volve) });
    for (const pageBase of [0, 1] as const) {
      server.state.setOptions({ pageBase });
      for (const uwi of new Set(inFile.map((row) => row.uwi))) {
        const served = await readAll(server, uwi, pageBase);
        expect(served.map(({ xid: _xid, ...row }) => ({ uwi, ...row }))).toEqual(
          inFile.filter((row) => row.uwi === uwi),
        );
      }
    }
  });
});

describe('daily production given by a test', () => {
  it('given rows are served unchanged, valid or not; a row without a readable date is in every range', async () => {
    const [first, second] = januaryRows(2);
    const faulty = { ...first, uwi: UWI, xid: 'A', date: 'soon', oilRate: null, extra: { deep: [1] } };
    await using server = await startTestingServer({ data: givenDaily([faulty, { ...second, uwi: UWI, xid: 'B' }]) });
    const rows = await json<ServedRow[]>(dailyUrl(server, { startDate: '2024-01-02T00:00:00Z' }));
    expect(rows.map((row) => row.xid)).toEqual(['B', 'A']);
    expect(rows[1]).toMatchObject({ date: 'soon', oilRate: null, extra: { deep: [1] } });
  });

  it('an unknown well is answered 404, or empty with unknownWell; a well without rows is empty', async () => {
    const data = givenDaily(januaryRows(1), ['dry']);
    await using strict = await startTestingServer({ data });
    await using lenient = await startTestingServer({ data, unknownWell: 'empty' });
    expect(await statusOf(dailyUrl(strict, {}, 'nobody'))).toBe(404);
    expect(await json(dailyUrl(lenient, {}, 'nobody'))).toEqual([]);
    expect(await json(dailyUrl(strict, {}, 'dry'))).toEqual([]);
  });

  it('a uwi in a path is decoded exactly once', async () => {
    const uwis = ['15/9-F-1 C', '100%', '100%25', 'Brønn+7', 'a?b#c'];
    await using server = await startTestingServer({ data: givenDaily(uwis.flatMap((uwi) => januaryRows(1, uwi))) });
    const xids = await Promise.all(
      uwis.map(async (uwi) => (await json<ServedRow[]>(dailyUrl(server, {}, uwi)))[0]?.xid),
    );
    expect(new Set(xids).size).toBe(uwis.length);
    expect(await statusOf(`${server.url}/api/production/daily/15%2F9-F-1%20C`)).toBe(200);
    expect(await statusOf(`${server.url}/api/production/daily/15%252F9-F-1%2520C`)).toBe(404);
    expect(await statusOf(`${server.url}/api/production/daily/%E0%A4%A`)).toBe(400);
  });
});

describe('dateOffset', () => {
  it('dateOffset writes each date at that offset, for the same instant', async () => {
    await using server = await startWithTenDays();
    const [before] = await json<ServedRow[]>(dailyUrl(server));
    server.state.setOptions({ dateOffset: '+02:00' });
    const [east] = await json<ServedRow[]>(dailyUrl(server));
    expect(east).toEqual({ ...before, date: '2024-01-01T02:00:00+02:00' });
    server.state.setOptions({ dateOffset: '-05:30' });
    const [west] = await json<ServedRow[]>(dailyUrl(server));
    expect(west?.date).toBe('2023-12-31T18:30:00-05:30');
    expect(await ratesOn(server, { endDate: '2024-01-01T00:00:00Z' })).toEqual([1]);
  });
});

describe('generated data', () => {
  const options = { seed: 3, wells: 10, fromDay: '2022-01-01', toDay: '2024-01-01' };

  it('generated data is served row by row as the field generates it', async () => {
    await using server = await startTestingServer({ data: generatedDaily(options) });
    const field = generateField(options);
    for (const well of field.wells) expect(await readAll(server, well.uwi)).toEqual(field.rows(well));
    const rowCount = field.wells.reduce((sum, well) => sum + field.rowCount(well), 0);
    expect(server.state.describe().counts).toMatchObject({ wells: 10, equipment: 10, dailyRows: rowCount });
  });

  it('generated data has time series records and a well for each uwi, listed outside /api', async () => {
    await using server = await startTestingServer({ data: generatedDaily(options) });
    const { equipment, sourceWells } = server.state.describe();
    for (const id of equipment) {
      const records = await json<unknown[]>(
        `${server.url}/api/production/netx/equipment/${encodeURIComponent(id)}/time-series`,
      );
      expect(records.length).toBeGreaterThan(2);
      expect(recordsSchemaOf(timeSeries).safeParse(records).success).toBe(true);
    }
    for (const id of sourceWells) {
      expect(await json(`${server.url}/api/production/well/${encodeURIComponent(id)}`)).toMatchObject({ sourceId: id });
    }
    expect(await statusOf(`${server.url}/api/production/netx/equipment/none/time-series`)).toBe(404);
    expect(await statusOf(`${server.url}/api/production/well/none`)).toBe(404);
  });
});

it('wellAnswers text serves a well as plain text', async () => {
  await using server = await startTestingServer({
    wellAnswers: 'text',
    assets: { wells: { W1: { body: { name: 'one' } } } },
  });
  const response = await fetch(`${server.url}/api/production/well/W1`);
  expect(response.headers.get('content-type')).toContain('text/plain');
  expect(await response.text()).toBe('name: one');
});
