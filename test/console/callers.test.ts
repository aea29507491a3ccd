/** Every route as every caller: the table has each route of the server, and one that it lacks fails here. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { equipment, smallField, well } from '../support/cleanup-cli.ts';
import type { Asking } from '../support/console.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { schedulesByRole, writeSelection } from '../support/schedules-by-role.ts';
import { UWI } from '../support/testing-server-requests.ts';

/** `elsewhere`: a page of another host, in the browser of a reader with the role delete. */
const callers = ['none', 'wrong', 'read', 'operate', 'elsewhere', 'delete'] as const;
type CallerName = (typeof callers)[number];

/**
 * A route, `?` and what is asked where it is asked for more than one thing, then the status by caller: none, wrong token,
 * read, operate, elsewhere, delete. They ask in this order: what delete changes, none has changed before.
 */
const table = `
GET /api/v1/openapi.json                                             | 401 401 200 200 200 200
GET /healthz                                                         | 200 200 200 200 200 200
HEAD /healthz                                                        | 200 200 200 200 200 200
GET /readyz                                                          | 200 200 200 200 200 200
HEAD /readyz                                                         | 200 200 200 200 200 200
GET /metrics                                                         | 401 401 200 200 200 200
GET /api/v1/runs                                                     | 401 401 200 200 200 200
GET /api/v1/runs/:runId                                              | 401 401 404 404 404 404
GET /api/v1/runs/:runId/report                                       | 401 401 404 404 404 404
GET /api/v1/runs/:runId/units                                        | 401 401 404 404 404 404
GET /api/v1/runs/:runId/log                                          | 401 401 404 404 404 404
GET /api/v1/runs/:runId/rejects                                      | 401 401 404 404 404 404
POST /api/v1/runs/:runId/cancel                                      | 401 401 403 202 403 409
POST /api/v1/runs/:runId/retry ?an export                            | 401 401 403 202 403 409
POST /api/v1/runs/:runId/retry ?rows may leave                       | 401 401 403 403 403 202
POST /api/v1/runs/:runId/retry ?a cleanup                            | 401 401 403 403 403 202
POST /api/v1/runs/:runId/retry ?a cleanup, another number            | 401 401 403 403 403 409
POST /api/v1/runs/:runId/retry ?a cleanup, no number                 | 401 401 403 403 403 409
GET /api/v1/runs/:runId/release                                      | 401 401 404 404 404 404
POST /api/v1/runs/:runId/release                                     | 401 401 403 403 403 404
POST /api/v1/runs ?an export                                         | 401 401 403 202 403 202
POST /api/v1/runs ?rows may leave                                    | 401 401 403 403 403 202
POST /api/v1/runs ?gaps, rows may leave                              | 401 401 403 403 403 202
POST /api/v1/runs ?no uwi                                            | 401 401 403 422 403 422
POST /api/v1/runs ?no uwi, from the warehouse                        | 401 401 403 422 403 422
POST /api/v1/runs ?no equipment                                      | 401 401 403 422 403 422
POST /api/v1/runs ?no well                                           | 401 401 403 422 403 422
POST /api/v1/verifications ?a well                                   | 401 401 403 202 403 202
POST /api/v1/verifications ?no uwi                                   | 401 401 403 422 403 422
POST /api/v1/pushes ?a check                                         | 401 401 403 200 403 200
POST /api/v1/pushes ?again                                           | 401 401 403 202 403 202
GET /api/v1/plans                                                    | 401 401 200 200 200 200
GET /api/v1/plans/:planId                                            | 401 401 404 404 404 404
POST /api/v1/plans ?a target                                         | 401 401 403 201 403 201
POST /api/v1/plans ?no target                                        | 401 401 403 422 403 422
POST /api/v1/plans/file                                              | 401 401 403 201 403 201
POST /api/v1/plans/:planId/apply                                     | 401 401 403 403 403 202
GET /api/v1/coverage                                                 | 401 401 200 200 200 200
GET /api/v1/restatements                                             | 401 401 200 200 200 200
GET /api/v1/months                                                   | 401 401 200 200 200 200
GET /api/v1/contract                                                 | 401 401 200 200 200 200
GET /api/v1/wells/:uwi                                               | 401 401 404 404 404 404
GET /api/v1/wells/:uwi/production                                    | 401 401 404 404 404 404
GET /api/v1/alerts                                                   | 401 401 200 200 200 200
GET /api/v1/alerts/:id                                               | 401 401 404 404 404 404
POST /api/v1/alerts/acknowledge                                      | 401 401 403 400 403 400
POST /api/v1/alerts/resolve                                          | 401 401 403 400 403 400
POST /api/v1/alerts/accept                                           | 401 401 403 400 403 400
GET /api/v1/schedules                                                | 401 401 200 200 200 200
POST /api/v1/schedules/apply                                         | 401 401 403 403 403 200
POST /api/v1/schedules/:name/trigger ?an export                      | 401 401 403 202 403 202
POST /api/v1/schedules/:name/trigger ?rows may leave                 | 401 401 403 403 403 202
POST /api/v1/schedules/:name/trigger ?a cleanup                      | 401 401 403 403 403 202
POST /api/v1/schedules/:name/pause                                   | 401 401 403 200 403 200
POST /api/v1/schedules/:name/resume ?an export                       | 401 401 403 200 403 200
POST /api/v1/schedules/:name/resume ?rows may leave                  | 401 401 403 403 403 200
POST /api/v1/schedules/:name/resume ?a cleanup                       | 401 401 403 403 403 200
GET /api/v1/events                                                   | 401 401 200 200 200 200
GET /api/v1/service                                                  | 401 401 200 200 200 200
POST /api/v1/service/release                                         | 401 401 403 200 403 200
GET /queues                                                          | 401 401 403 200 200 200
GET /queues/metrics-history                                          | 401 401 403 200 200 200
GET /queues/job-schedulers                                           | 401 401 403 200 200 200
GET /queues/queue/:queueName                                         | 401 401 403 200 200 200
GET /queues/queue/:queueName/:jobId                                  | 401 401 403 200 200 200
GET /queues/api/redis/stats                                          | 401 401 403 200 200 200
GET /queues/api/queues                                               | 401 401 403 200 200 200
GET /queues/api/job-schedulers                                       | 401 401 403 200 200 200
GET /queues/api/queues/:queueName/metrics                            | 401 401 403 404 404 404
GET /queues/api/queues/:queueName/default-job-options                | 401 401 403 404 404 404
GET /queues/api/queues/:queueName/workers                            | 401 401 403 404 404 404
GET /queues/api/queues/:queueName/rate-limit                         | 401 401 403 404 404 404
GET /queues/api/queues/:queueName/job-data-schema                    | 401 401 403 404 404 404
PUT /queues/api/queues/pause                                         | 401 401 403 405 403 405
PUT /queues/api/queues/resume                                        | 401 401 403 405 403 405
GET /queues/api/queues/:queueName/:jobId/logs                        | 401 401 403 404 404 404
GET /queues/api/queues/:queueName/:jobId/flow                        | 401 401 403 404 404 404
GET /queues/api/queues/:queueName/:jobId                             | 401 401 403 404 404 404
POST /queues/api/queues/:queueName/add                               | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/retry/:queueStatus                 | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/promote                            | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/clean/:queueStatus                 | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/pause                              | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/resume                             | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/concurrency                        | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/rate-limit                         | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/rate-limit/release                 | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/empty                              | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/obliterate                         | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/job-schedulers/:schedulerId/remove | 401 401 403 405 403 405
PATCH /queues/api/queues/:queueName/job-schedulers/:schedulerId      | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/job-schedulers/:schedulerId/run    | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/:jobId/retry                       | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/:jobId/clean                       | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/:jobId/promote                     | 401 401 403 405 403 405
PATCH /queues/api/queues/:queueName/:jobId/update-data               | 401 401 403 405 403 405
PATCH /queues/api/queues/:queueName/:jobId/delay                     | 401 401 403 405 403 405
PATCH /queues/api/queues/:queueName/:jobId/priority                  | 401 401 403 405 403 405
PUT /queues/api/queues/:queueName/:jobId/remove-unprocessed-children | 401 401 403 405 403 405
HEAD /queues/static/*                                                | 401 401 403 405 405 405
GET /queues/static/*                                                 | 401 401 403 404 404 404
GET /static/console.css                                              | 200 200 200 200 200 200
GET /static/console.js                                               | 200 200 200 200 200 200
GET /static/coverage.js                                              | 200 200 200 200 200 200
GET /static/start.js                                                 | 200 200 200 200 200 200
GET /static/well.js                                                  | 200 200 200 200 200 200
GET /static/well-plots.js                                            | 200 200 200 200 200 200
GET /static/well-values.js                                           | 200 200 200 200 200 200
GET /static/day-states.js                                            | 200 200 200 200 200 200
GET /static/icon.svg                                                 | 200 200 200 200 200 200
GET /static/uPlot.esm.js                                             | 200 200 200 200 200 200
GET /static/uPlot.min.css                                            | 200 200 200 200 200 200
GET /sign-in                                                         | 200 200 200 200 200 200
POST /sign-in ?a right token                                         | 303 303 303 303 403 303
POST /sign-in ?a wrong token                                         | 401 401 401 401 403 401
POST /sign-in ?no form                                               | 400 400 400 400 403 400
POST /sign-out                                                       | 303 303 303 303 403 303
GET /                                                                | 401 401 200 200 200 200
GET /live                                                            | 401 401 200 200 200 200
GET /runs                                                            | 401 401 200 200 200 200
GET /runs/live                                                       | 401 401 200 200 200 200
GET /start                                                           | 401 401 200 200 200 200
GET /runs/:runId                                                     | 401 401 200 200 200 200
GET /runs/:runId/live                                                | 401 401 404 404 404 404
GET /coverage                                                        | 401 401 200 200 200 200
GET /coverage/block                                                  | 401 401 200 200 200 200
GET /coverage/stale                                                  | 401 401 200 200 200 200
GET /coverage/unknown                                                | 401 401 200 200 200 200
GET /wells/:uwi                                                      | 401 401 404 404 404 404
GET /wells/:uwi/series                                               | 401 401 200 200 200 200
GET /wells/:uwi/series.csv                                           | 401 401 200 200 200 200
GET /push                                                            | 401 401 200 200 200 200
GET /cleanup                                                         | 401 401 200 200 200 200
GET /cleanup/:planId                                                 | 401 401 404 404 404 404
GET /service                                                         | 401 401 200 200 200 200
GET /schedules                                                       | 401 401 200 200 200 200
GET /search                                                          | 401 401 200 200 200 200
GET /api/v1/search                                                   | 401 401 200 200 200 200
`;

const pipes = `sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness
N,P1,2024-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]
`;
const csv = { body: pipes, headers: { 'content-type': 'text/csv' } };
const daily = { export: 'daily-production', uwis: [UWI] };
const wells = { export: 'wells', wells: [well] };
const target = { kind: 'time-series', equipment, sourceId: 'a b' };

interface Asked extends Asking {
  readonly path?: string;
}

let served: ServedInstallation;
/** What is asked of a route, where `x` in its path, without a body, is not enough; made before the first caller asks. */
let asked: Readonly<Record<string, () => Promise<Asked>>>;

beforeAll(async () => {
  served = await serveInstallation({
    setup: { assets: smallField() },
    works: false,
    config: schedulesByRole,
    // The wrong tokens of one address are counted: each comes from its own.
    http: { trustedProxies: ['127.0.0.1'] },
  });
  await writeSelection(served.home);
  cookieOfReader = await served.server.signIn('delete');
  const form = (text: string) => ({ body: text, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  asked = {
    'GET /coverage/block': async () => ({ path: '/coverage/block?from=0' }),
    'GET /api/v1/search': async () => ({ path: '/api/v1/search?text=x' }),
    'GET /api/v1/restatements': async () => ({ path: '/api/v1/restatements?since=2024-01-01' }),
    'GET /runs/:runId': async () => ({ path: `/runs/${await startedRun(daily)}` }),
    'POST /api/v1/runs/:runId/cancel': async () => ({ path: `/api/v1/runs/${await startedRun(daily)}/cancel` }),
    'POST /api/v1/runs/:runId/retry ?an export': async () => ({ path: await retryOf(await startedRun(daily)) }),
    'POST /api/v1/runs/:runId/retry ?rows may leave': async () => ({
      path: await retryOf(await startedRun({ ...daily, allowShrink: true })),
    }),
    'POST /api/v1/runs/:runId/retry ?a cleanup': async () => ({
      path: await retryOf(await appliedPlan()),
      json: { targets: 1 },
    }),
    'POST /api/v1/runs/:runId/retry ?a cleanup, another number': async () => ({
      path: await retryOf(await appliedPlan()),
      json: { targets: 2 },
    }),
    'POST /api/v1/runs/:runId/retry ?a cleanup, no number': async () => ({
      path: await retryOf(await appliedPlan()),
      method: 'POST',
    }),
    'POST /api/v1/runs/:runId/release': async () => ({ json: { rows: 1 } }),
    'POST /api/v1/runs ?an export': async () => ({ json: daily }),
    'POST /api/v1/runs ?rows may leave': async () => ({ json: { ...wells, allowShrink: true } }),
    'POST /api/v1/runs ?gaps, rows may leave': async () => ({ json: { ...daily, gaps: true, allowShrink: true } }),
    'POST /api/v1/runs ?no uwi': async () => ({ json: { ...daily, uwis: [] } }),
    'POST /api/v1/runs ?no uwi, from the warehouse': async () => ({
      json: { ...daily, uwis: [], fromWarehouse: true },
    }),
    'POST /api/v1/runs ?no equipment': async () => ({ json: { export: 'time-series', equipment: [] } }),
    'POST /api/v1/runs ?no well': async () => ({ json: { ...wells, wells: [] } }),
    'POST /api/v1/verifications ?a well': async () => ({ json: { uwis: ['A'] } }),
    'POST /api/v1/verifications ?no uwi': async () => ({ json: { uwis: [] } }),
    'POST /api/v1/pushes ?a check': async () => ({ path: '/api/v1/pushes?dryRun=true', ...csv }),
    'POST /api/v1/pushes ?again': async () => ({ path: '/api/v1/pushes?again=true', ...csv }),
    'POST /api/v1/plans ?a target': async () => ({ json: { targets: [target] } }),
    'POST /api/v1/plans ?no target': async () => ({ json: { targets: [] } }),
    'POST /api/v1/plans/file': async () => ({
      body: 'kind,well,equipment,source_id\nwellbores,spared,,\n',
      headers: { 'content-type': 'text/csv' },
    }),
    'POST /api/v1/plans/:planId/apply': async () => ({
      path: `/api/v1/plans/${await madePlan()}/apply`,
      json: { targets: 1 },
    }),
    'POST /api/v1/schedules/:name/trigger ?an export': async () => ({ path: await ofSchedule('nightly/trigger') }),
    'POST /api/v1/schedules/:name/trigger ?rows may leave': async () => ({
      path: await ofSchedule('shrinking/trigger'),
    }),
    'POST /api/v1/schedules/:name/trigger ?a cleanup': async () => ({ path: await ofSchedule('retired/trigger') }),
    'POST /api/v1/schedules/:name/pause': async () => ({ path: await ofSchedule('retired/pause') }),
    'POST /api/v1/schedules/:name/resume ?an export': async () => ({ path: await ofSchedule('nightly/resume') }),
    'POST /api/v1/schedules/:name/resume ?rows may leave': async () => ({ path: await ofSchedule('shrinking/resume') }),
    'POST /api/v1/schedules/:name/resume ?a cleanup': async () => ({ path: await ofSchedule('retired/resume') }),
    'POST /sign-in ?a right token': async () => form('token=read'),
    'POST /sign-in ?a wrong token': async () => form('token=guess'),
    'POST /sign-in ?no form': async () => ({ json: {} }),
  };
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

const runDocument = z.object({ runId: z.string() });

async function startedRun(json: object): Promise<string> {
  const answer = await served.server.ask('/api/v1/runs', { token: 'delete', json });
  return runDocument.parse(await answer.json()).runId;
}

async function madePlan(): Promise<string> {
  const answer = await served.server.ask('/api/v1/plans', { token: 'delete', json: { targets: [target] } });
  return z.object({ planId: z.string() }).parse(await answer.json()).planId;
}

async function appliedPlan(): Promise<string> {
  const path = `/api/v1/plans/${await madePlan()}/apply`;
  const answer = await served.server.ask(path, { token: 'delete', json: { targets: 1 } });
  return runDocument.parse(await answer.json()).runId;
}

/** The path that retries a run, which has been cancelled. */
async function retryOf(runId: string): Promise<string> {
  const path = `/api/v1/runs/${runId}`;
  await served.server.ask(`${path}/cancel`, { method: 'POST', token: 'delete' });
  await vi.waitFor(async () => {
    expect(await (await served.server.ask(path, { token: 'read' })).json()).toMatchObject({ state: 'cancelled' });
  });
  return `${path}/retry`;
}

/** A path of a schedule, once those of the configuration are applied. */
async function ofSchedule(path: string): Promise<string> {
  await served.server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'delete' });
  return `/api/v1/schedules/${path}`;
}

let strangers = 0;
let cookieOfReader = '';

function headersOf(caller: CallerName): Readonly<Record<string, string>> {
  switch (caller) {
    case 'none':
      return {};
    case 'wrong':
      strangers += 1;
      return { authorization: 'Bearer guess', 'x-forwarded-for': `10.0.${strangers >> 8}.${strangers & 255}` };
    case 'elsewhere':
      return { cookie: cookieOfReader, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    case 'read':
    case 'operate':
    case 'delete':
      return { authorization: `Bearer ${caller}` };
  }
}

async function statusesOf(row: string): Promise<readonly number[]> {
  const [method = '', url = ''] = row.split(' ');
  const { path = url.replaceAll(/:\w+|\*/g, 'x'), ...how } = (await asked[row]?.()) ?? {};
  const statuses: number[] = [];
  for (const caller of callers) {
    const answer = await fetch(`${served.server.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(how.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...how.headers,
        ...headersOf(caller),
      },
      ...(how.json === undefined ? {} : { body: JSON.stringify(how.json) }),
      ...(how.body === undefined ? {} : { body: how.body }),
    });
    await answer.body?.cancel();
    statuses.push(answer.status);
  }
  return statuses;
}

const rows = table
  .trim()
  .split('\n')
  .map((line) => {
    const [row = '', statuses = ''] = line.split(' | ');
    return { row: row.trim(), statuses: statuses.trim().split(' ').map(Number) };
  });

test('every route is in the table, and the table has no other', () => {
  const ofServer = served.server.routes.map(({ method, url }) => `${method} ${url}`);
  const ofTable = rows.map(({ row }) => row.replace(/ \?.*$/, ''));
  expect([...new Set(ofTable)].toSorted()).toEqual([...new Set(ofServer)].toSorted());
  const known = new Set(rows.map(({ row }) => row));
  expect(Object.keys(asked).filter((each) => !known.has(each))).toEqual([]);
});

// No guest gets in, and none is told more than its role may know.
test.for(rows)('G6: $row answers none, wrong, read, operate, elsewhere and delete', async ({ row, statuses }) => {
  expect(await statusesOf(row)).toEqual(statuses);
});
