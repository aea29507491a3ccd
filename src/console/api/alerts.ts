/** Alerts: what needs a person, one with its changes, and what a person says of them. */
import { z } from 'zod';
import {
  acceptAlerts,
  acknowledgeAlerts,
  listAlerts,
  requestAlerts,
  resolveAlerts,
  showAlert,
} from '../../app/alerts/alerts.ts';
import { severities, type AlertKind, alertKinds, alertStates } from '../../core/alerts/kinds.ts';
import { UsageError } from '../../core/base/errors.ts';
import { namedInstant } from '../../core/time/production-day.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { action, asOf, instant, problems } from './documents.ts';

const alertShown = z.object({
  id: z.string(),
  kind: z.string(),
  state: z.enum(alertStates),
  severity: z.enum(severities),
  job: z.string().nullable(),
  target: z.object({ kind: z.string(), id: z.string() }),
  cause: z.string().describe('The same for alerts of one reason'),
  summary: z.string(),
  detail: z.record(z.string(), z.unknown()),
  action: action.nullable(),
  openedAt: instant,
  openedBy: z.string().describe('A run, or who else saw it first'),
  seenAt: instant,
  acknowledgedBy: z.string().nullable(),
  acknowledgedAt: instant,
  acknowledgedBecause: z.string().nullable(),
  until: instant.describe('Until when it is acknowledged; null for good'),
  resolvedAt: instant,
  resolvedBy: z.string().nullable().describe('A run, or a person'),
  resolvedBecause: z.string().nullable(),
});

const alertsShown = z.object({ alerts: z.array(alertShown).readonly() });

const alertListDocument = alertsShown.extend({
  next: z.string().nullable().describe('Cursor of the next page; null on the last one'),
  asOf,
});

const alertHistoryShown = alertShown.extend({
  changes: z
    .array(
      z.object({
        change: z.enum(['opened', 'reopened', 'worsened', 'reminded', 'acknowledged', 'resolved']),
        at: instant,
        by: z.string(),
        because: z.string().nullable(),
        severity: z.enum(severities),
        size: z.number().describe('Rows, days or records'),
      }),
    )
    .readonly(),
  asOf,
});

const kind = z.enum(Object.keys(alertKinds) as [AlertKind, ...AlertKind[]]);
const state = z.enum(alertStates);
const one = <Value extends z.ZodType>(value: Value) => z.union([value, z.array(value).max(100)]).optional();
const day = z.string().max(40);

const ids = z
  .array(z.string().min(1).max(64))
  .min(1)
  .max(1_000)
  .describe('Each may be shortened to a unique beginning');
const withGroups = z.boolean().default(false).describe('And all alerts of the kind, job, cause and state of those');
const because = z.string().trim().min(1).max(1_000);

export function addAlertRoutes(server: ApiServer, context: ConsoleContext): void {
  addLists(server, context);
  addStatements(server, context);
}

function addLists(server: ApiServer, { app, reader }: ConsoleContext): void {
  const { timeZone } = app.config;
  server.route({
    method: 'GET',
    url: '/api/v1/alerts',
    config: { access: 'read' },
    schema: {
      summary: 'What needs a person, errors first: by default what is open',
      querystring: z.strictObject({
        kind: one(kind),
        state: one(state),
        target: z.string().min(1).max(1_000).optional().describe('A well, equipment, file or other target'),
        since: day.optional().describe('A day, or an ISO date-time: opened from then on'),
        limit: z.coerce.number().int().min(1).max(1_000).default(1_000),
        cursor: z.string().max(3_000).optional().describe('`next` of the page before'),
      }),
      response: { 200: alertListDocument, ...problems(400) },
    },
    handler: async ({ query }) => {
      const input = { ...query, kinds: listOf(query.kind), states: listOf(query.state) };
      const filter = requestAlerts(input, { timeZone, nowMs: Date.now() });
      const { value, atMs } = await reader.read(['alerts', query], () => listAlerts(app, filter));
      return { ...value, asOf: new Date(atMs).toISOString() };
    },
  });
  server.route({
    method: 'GET',
    url: '/api/v1/alerts/:id',
    config: { access: 'read' },
    schema: {
      summary: 'An alert with its changes, the oldest first',
      params: z.object({ id: z.string().max(64) }),
      response: { 200: alertHistoryShown, ...problems(404) },
    },
    handler: async ({ params: { id } }) => {
      const { value, atMs } = await reader.read(['alert', id], () => showAlert(app, id, Date.now()).catch(notThere));
      return { ...value, asOf: new Date(atMs).toISOString() };
    },
  });
}

function notThere(error: unknown): never {
  if (error instanceof UsageError) throw new RequestProblem(404, 'no-such-alert', error.message);
  throw error;
}

function addStatements(server: ApiServer, { app }: ConsoleContext): void {
  const answer = { response: { 200: alertsShown, ...problems(400, 422) } };
  server.route({
    method: 'POST',
    url: '/api/v1/alerts/acknowledge',
    config: { access: 'operate' },
    schema: {
      summary: 'Keeps alerts silent until a day, or for good, as long as they are not worse',
      body: z.strictObject({ ids, withGroups, because, until: day.optional().describe('A day, or an ISO date-time') }),
      ...answer,
    },
    handler: async (request) => {
      const { until, ...said } = request.body;
      const untilMs = until === undefined ? undefined : namedInstant('until', until, app.config.timeZone);
      return acknowledgeAlerts(app, { ...said, untilMs, by: callerOf(request).actor, atMs: Date.now() });
    },
  });
  server.route({
    method: 'POST',
    url: '/api/v1/alerts/resolve',
    config: { access: 'operate' },
    schema: {
      summary: 'Resolves alerts. Held rows end with their release, records in quarantine with their acceptance',
      body: z.strictObject({ ids, withGroups, because }),
      ...answer,
    },
    handler: (request) => resolveAlerts(app, { ...request.body, by: callerOf(request).actor, atMs: Date.now() }),
  });
  server.route({
    method: 'POST',
    url: '/api/v1/alerts/accept',
    config: { access: 'operate' },
    schema: {
      summary: 'Accepts records in quarantine as they are: the same content is no alert again',
      body: z.strictObject({ ids, withGroups, because }),
      ...answer,
    },
    handler: (request) => acceptAlerts(app, { ...request.body, by: callerOf(request).actor, atMs: Date.now() }),
  });
}

function listOf<Value>(given: Value | Value[] | undefined): readonly Value[] | undefined {
  return given === undefined ? undefined : ([given].flat() as Value[]);
}
