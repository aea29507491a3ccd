/** The built command reads the storm's service, whatever its manner, and the warehouse has the truth. */
import { expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import type { RecordBody } from '../evidence.ts';
import { uwis } from './assets.ts';
import { startStormService, type StormService } from './service.ts';

const required = ['oilRate', 'gasRate', 'waterRate', 'tubingPressure', 'casingPressure'];
const optional = [
  'choke',
  'downtimeHours',
  'downtimeCode',
  'gaugePressure',
  'espAmps',
  'waterInjectionRate',
  'isDualFlow',
];
const columnOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const select = `
  SELECT uwi, xid, CAST(production_day AS VARCHAR) AS day, ${[...required, ...optional].map(columnOf).join(', ')}
  FROM daily_production ORDER BY uwi, xid`;

/** Records of the service that keep the contract, as rows of the query. */
function wantedRows(service: StormService): readonly RecordBody[] {
  const last = new Map(service.truth.mutations.map(({ xid, what }) => [xid, what]));
  const rows = Object.entries(service.truth.all()).flatMap(([uwi, records]) =>
    records
      .filter(({ xid }) => last.get(String(xid)) !== 'broken')
      .map((body) => ({
        uwi,
        xid: body['xid'],
        day: String(body['date']).slice(0, 10),
        ...Object.fromEntries(required.map((field) => [columnOf(field), body[field] ?? 0])),
        ...Object.fromEntries(optional.map((field) => [columnOf(field), body[field] ?? null])),
      })),
  );
  return rows.toSorted((left, right) => (String(left.xid) < String(right.xid) ? -1 : 1));
}

test.each([1, 2])('an export of all wells of the seed %i', async (seed) => {
  await using service = await startStormService({ seed });
  for (let count = 0; count < 150; count += 1) service.mutate();
  await using home = await cliHome(service.url, { queue: 'embedded' });
  const wells = uwis.map((uwi) => `"${uwi.replaceAll('"', '""')}"`);
  const file = await home.write('wells.csv', ['uwi', ...wells].join('\n'));
  const env = { WELLSYNC_SERVICE_TOKEN: service.tokens()[0] ?? '' };
  // A part of the requests is reset or cut, and asked again.
  service.burst(0.05, Date.now() + 600_000, [
    'reset-before',
    '500-before',
    'cut-length',
    'cut-chunked',
    'part-206',
    'half-json',
  ]);
  const exported = await home.run(['export', 'daily-production', '--inline', '--wells', file], { env });
  // With broken records the run ends with 3.
  expect(exported.code, exported.stderr).toBe(3);
  const { stdout } = await home.run(['query', select, '--json']);
  const rows = (JSON.parse(stdout) as readonly RecordBody[]).toSorted((left, right) =>
    String(left['xid']) < String(right['xid']) ? -1 : 1,
  );
  expect(rows).toEqual(wantedRows(service));
  await service.waitIdle();
  expect(service.log().requests.some(({ fault }) => fault !== undefined)).toBe(true);
});
