/** What the page of a well and of a run over its days say first: nothing is complete or closed that is not. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { runOf, waitMs } from '../support/in-browser.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { dailyUrl, januaryRows, UWI } from '../support/testing-server-requests.ts';

const config = 'queue: { attempts: 1 }\nservice: { retry: { attempts: 1 } }\n';
const january = { export: 'daily-production', uwis: [UWI], from: '2024-01-01', to: '2024-02-01' };
const daysOf = (from: number, to: number) => {
  const day = (number: number): string => `2024-01-${String(number).padStart(2, '0')}`;
  return { ...january, from: day(from), to: day(to) };
};

const standing = z.looseObject({ kind: z.string(), severity: z.string(), sentence: z.string() });
const wellSchema = z.looseObject({
  standings: z.array(standing),
  stretches: z.array(z.looseObject({ from: z.string(), state: z.string() })),
  quarantined: z.array(z.looseObject({ accepted: z.unknown() })),
  reads: z.array(z.looseObject({ runId: z.string(), state: z.string() })),
  restated: z.array(z.looseObject({ day: z.string() })),
});

async function wellOf({ server }: ServedInstallation): Promise<z.output<typeof wellSchema>> {
  const answer = await server.ask(`/api/v1/wells/${encodeURIComponent(UWI)}`, { token: 'read' });
  return wellSchema.parse(await answer.json());
}

/** The text of a page, without its tags. */
async function pageOf({ server }: ServedInstallation, path: string): Promise<string> {
  const answer = await server.ask(path, { token: 'operate', headers: { accept: 'text/html' } });
  return (await answer.text()).replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
}

const kindsOf = async (served: ServedInstallation) => (await wellOf(served)).standings.map(({ kind }) => kind);

/** The records of these days of January come so from now on. */
function change({ service }: ServedInstallation, days: readonly number[], fields: object): void {
  const rows = januaryRows(31).filter((_, index) => days.includes(index + 1));
  service.state.changeDaily(rows.map((row) => JSON.stringify({ ...row, ...fields })).join('\n'));
}

async function removed({ service }: ServedInstallation, from: number, to: number): Promise<void> {
  const rows = (await (await fetch(dailyUrl(service, { limit: 500 }))).json()) as ReadonlyArray<{ xid: string }>;
  const gone = rows.slice(from, to).map(({ xid }) => JSON.stringify({ uwi: UWI, remove: xid }));
  service.state.changeDaily(gone.join('\n'));
}

const serve = (days = 31) =>
  serveInstallation({ setup: { data: givenDaily(januaryRows(days)), maxLimit: 500 }, config });

test('a gap is closed where days had no row before the run, and nowhere else', async () => {
  await using served = await serve();
  const said = async (request: object): Promise<string> => pageOf(served, `/runs/${await runOf(served, request)}`);
  expect(await said(daysOf(1, 8))).toContain('First rows of the well: the warehouse has a row for each of the 7 days.');
  expect(await said(daysOf(10, 13))).toContain('The gap is closed: the warehouse has a row for each of the 3 days.');
  expect(await said(daysOf(1, 10))).toContain('The gap is closed: 2 of the 9 days had no row, and have one now.');
  expect(await said(daysOf(1, 2))).toContain('Nothing changed: the warehouse had a row for the day before.');
  change(served, [2, 3, 4], { gasRate: 7 });
  const changing = await runOf(served, daysOf(1, 10));
  expect(await pageOf(served, `/runs/${changing}`)).toContain('The run changed the rows of 3 days that had one.');
  change(served, [2, 3, 4], { tubingPressure: null });
  const quarantining = await said(daysOf(2, 5));
  expect(quarantining).not.toContain('gap is closed');
  expect(quarantining).toContain('3 records are in quarantine: accept them, or ask the owners of the service');
  change(served, [3], { gasRate: 9, tubingPressure: 1 });
  await runOf(served, daysOf(3, 4));
  // A later change of the same rows is none of it.
  expect(await pageOf(served, `/runs/${changing}`)).toContain('The run changed the rows of 3 days that had one.');
});

test('rows that are held close no gap, and the later ones are not ascribed to the first run', async () => {
  await using served = await serve();
  await runOf(served, january);
  await removed(served, 0, 10);
  const first = await runOf(served, january);
  const page = await pageOf(served, `/runs/${first}`);
  expect(page).toContain('10 rows are held: the service no longer has them.');
  expect(page).not.toContain('gap is closed');
  await removed(served, 0, 4);
  await runOf(served, january);
  expect((await wellOf(served)).standings[0]).toMatchObject({
    kind: 'held',
    severity: 'warning',
    sentence: expect.stringMatching(new RegExp(`^Held: 14 rows .*; the first of them by run ${first}, since `)),
  });
});

test('gaps that were read in vain remain, and the run says so', async () => {
  await using served = await serve(20);
  await runOf(served, { ...daysOf(1, 5) });
  const filled = await runOf(served, { export: 'daily-production', uwis: [UWI], gaps: true });
  expect(await pageOf(served, `/runs/${filled}`)).toContain('16 rows were inserted; the coverage shows what remains.');
  const again = await runOf(served, { export: 'daily-production', uwis: [UWI], gaps: true });
  const page = await pageOf(served, `/runs/${again}`);
  expect(page).toMatch(/Done.* No row was inserted: the gap remains\./);
  expect(page).toContain('Show the coverage');
});

test('a well of which backfills alone were read is not complete, and becomes so by an export', async () => {
  await using served = await serve();
  await runOf(served, daysOf(20, 32 - 1));
  const { standings } = await wellOf(served);
  expect(standings.at(-1)).toMatchObject({
    kind: 'partial',
    severity: 'warning',
    sentence: expect.stringContaining('Read from 2024-01-20 on alone: no export has read its history'),
  });
  expect(await pageOf(served, '/coverage?as=table&show=attention')).toContain('read in part');
  await runOf(served, { export: 'daily-production', uwis: [UWI] });
  expect(await kindsOf(served)).not.toContain('partial');
  expect(await pageOf(served, '/coverage?as=table')).not.toContain('read in part');
});

test('a read that failed stands first until its days were read, whatever was read since', async () => {
  await using served = await serve();
  await runOf(served, { export: 'daily-production', uwis: [UWI] });
  served.service.state.setOptions({ faults: { htmlPage: 1 } });
  const failed = await runOf(served, daysOf(5, 15), 'failed');
  served.service.state.setOptions({ faults: { htmlPage: 0 } });
  await runOf(served, daysOf(1, 3));
  expect((await wellOf(served)).standings[0]).toMatchObject({
    kind: 'failed',
    severity: 'error',
    runId: failed,
    days: { from: '2024-01-05', to: '2024-01-15' },
    sentence: expect.stringMatching(/^A read, of 2024-01-05 to 2024-01-14, failed .* No later read has covered/),
  });
  await runOf(served, daysOf(5, 15));
  expect(await kindsOf(served)).not.toContain('failed');
});

test('an accepted record says by whom and why, and the earlier row of its day counts', async () => {
  await using served = await serve();
  await runOf(served, { export: 'daily-production', uwis: [UWI] });
  change(served, [3, 4], { tubingPressure: null });
  await runOf(served, daysOf(1, 6));
  const before = await wellOf(served);
  expect(before.standings.find(({ kind }) => kind === 'quarantined')).toMatchObject({
    severity: 'warning',
    sentence: expect.stringContaining('The earlier row of 2 quarantined days stays and counts.'),
  });
  expect(before.stretches.find(({ from }) => from === '2024-01-03')?.state).toBe('quarantined-kept');
  const { alerts } = (await (
    await served.server.ask('/api/v1/alerts?kind=record-quarantined', { token: 'read' })
  ).json()) as { alerts: ReadonlyArray<{ id: string; severity: string }> };
  expect(alerts.map(({ severity }) => severity)).toEqual(['warning', 'warning']);
  const accepted = await served.server.ask('/api/v1/alerts/accept', {
    token: 'operate',
    json: { ids: alerts.map(({ id }) => id), because: 'agreed with the owners' },
  });
  expect(accepted.status).toBe(200);
  const { standings, quarantined } = await wellOf(served);
  expect(standings.some(({ kind }) => kind === 'quarantined')).toBe(false);
  expect(standings.find(({ kind }) => kind === 'accepted')).toMatchObject({
    severity: 'info',
    sentence: expect.stringMatching(
      /^2 quarantined records, .* were accepted by operate \(token\), .*: agreed with the owners\.$/,
    ),
  });
  expect(quarantined.map(({ accepted: by }) => by)).toEqual(
    Array.from({ length: 2 }, () => ({
      by: 'operate (token)',
      at: expect.any(String),
      because: 'agreed with the owners',
    })),
  );
  const page = await pageOf(served, `/wells/${encodeURIComponent(UWI)}`);
  expect(page).toMatch(/accepted by operate \(token\), .*: agreed with the owners/);
  expect(page).toContain('2 records, 2 of them accepted');
});

test('a run that was cancelled has not read the well, and says nothing of its quarantine', async () => {
  await using served = await serve();
  change(served, [3], { tubingPressure: null });
  const read = await runOf(served, january);
  served.service.state.setOptions({ latencyMs: 60_000 });
  const answer = await served.server.ask('/api/v1/runs', { token: 'operate', json: january });
  const { runId } = z.object({ runId: z.string() }).parse(await answer.json());
  await served.server.ask(`/api/v1/runs/${runId}/cancel`, { token: 'operate', method: 'POST' });
  const run = async (): Promise<unknown> =>
    (await served.server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
  await expect.poll(run, waitMs).toMatchObject({ state: 'cancelled' });
  expect(await pageOf(served, `/runs/${runId}`)).not.toContain('in quarantine');
  expect((await wellOf(served)).reads.map((each) => each.runId)).toEqual([read]);
});

test('what was restated at one time is listed by day, the latest first', async () => {
  await using served = await serve();
  await runOf(served, january);
  change(served, [2, 3, 4], { gasRate: 7 });
  await runOf(served, january);
  const { restated } = await wellOf(served);
  expect(restated.map(({ day }) => day)).toEqual(['2024-01-04', '2024-01-03', '2024-01-02']);
});
