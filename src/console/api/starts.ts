/** The start of an export, or of a verification. What it names is in its body: no name of a file is taken. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import { requireRole } from '../../app/access/access.ts';
import { wellsLikeAlert } from '../../app/alerts/alerts.ts';
import type { App } from '../../app/app.ts';
import { mostRecords } from '../../app/exports/csv-list.ts';
import { requestDailyProduction } from '../../app/exports/daily-production.ts';
import {
  definitionExport,
  type DefinitionExport,
  definitionExports,
  type DefinitionName,
  type NamesMember,
  requestDefinitions,
} from '../../app/exports/definitions.ts';
import { previewRequest } from '../../app/runs/preview-request.ts';
import type { JobRequest } from '../../app/runs/start-run.ts';
import { requestVerification } from '../../app/wells/verification.ts';
import { UsageError } from '../../core/base/errors.ts';
import { roleToRun } from '../../core/run/job-description.ts';
import { highestSeed } from '../../core/verify/sample.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { problems } from './documents.ts';
import { keyHeaders, startedDocument, startOnceByKey } from './idempotency.ts';

const names = z.array(z.string().min(1).max(1_000)).max(mostRecords).optional();
const day = z.string().max(40).optional();
const flag = z.boolean().optional();
const fromWarehouse = flag.describe('All that the warehouse knows');
const allowShrink = flag.describe('Removes rows of this request that would otherwise be held: needs the role delete');
const dryRun = flag.describe('Starts nothing, and says what would run');

/** One of the lists of names is a member, and the others are unknown to it. */
function definitionBody({ name, member }: DefinitionExport) {
  const targets = { [member]: names } as Record<NamesMember, typeof names>;
  return z.strictObject({ export: z.literal<DefinitionName>(name), ...targets, fromWarehouse, allowShrink, dryRun });
}

const startBody = z.discriminatedUnion('export', [
  z.strictObject({
    export: z.literal('daily-production'),
    uwis: names.describe('By default those of the configuration; an empty list is 422, here and below'),
    likeAlert: z
      .string()
      .min(1)
      .max(40)
      .optional()
      .describe('An alert: the wells of all that are of its kind and cause, and in its state; not beside `uwis`'),
    fromWarehouse,
    from: day.describe('A day, or an ISO date-time: a backfill'),
    to: day.describe('The first day that is left out'),
    gaps: flag.describe('Only days of which the warehouse has nothing'),
    lookbackDays: z.number().int().min(0).max(36_525).optional(),
    allowShrink,
    dryRun,
  }),
  ...definitionExports.map(definitionBody),
]);
type StartBody = z.output<typeof startBody>;

const previewDocument = z.object({
  dryRun: z.literal(true),
  job: z.string(),
  title: z.string(),
  covers: z.string().describe('What the run would cover, as a run says it'),
  targets: z.number().describe('Distinct ones'),
  neverRead: z.number().describe('Those of them that the warehouse has nothing of'),
  firstNeverRead: z.array(z.string()).readonly().describe('Some of them'),
  lists: z
    .array(z.object({ name: z.string(), parts: z.array(z.string()).readonly() }))
    .readonly()
    .describe('Names that are lists: split at commas or semicolons, every part of them is known'),
});

export function addStartRoutes(server: ApiServer, context: ConsoleContext): void {
  const { app } = context;
  addVerificationRoute(server, context);
  server.route({
    method: 'POST',
    url: '/api/v1/runs',
    config: { access: 'operate' },
    schema: {
      summary: 'Starts an export; with allowShrink it needs the role delete',
      headers: keyHeaders,
      body: startBody,
      response: { 200: previewDocument, 202: startedDocument, ...problems(400, 403, 422, 503) },
    },
    handler: async (request, reply) => {
      const { body } = request;
      requireRole(callerOf(request), roleToRun({}, body));
      if (body.dryRun === true) {
        const asked = await requestOf(app, body);
        return reply.code(200).send({ dryRun: true, ...(await previewRequest(app, asked)) });
      }
      const started = await startOnceByKey(app, request, body, () => requestOf(app, body));
      return reply.code(202).header('location', `/api/v1/runs/${started.runId}`).send(started);
    },
  });
}

const verificationBody = z.strictObject({
  uwis: names.describe('By default all wells that were read'),
  from: day.describe('A day, or an ISO date-time; without bounds the last 90 days'),
  to: day.describe('The first day that is left out'),
  all: flag.describe('The whole history of each well'),
  sample: z.number().int().min(1).max(mostRecords).optional().describe('So many of the wells, chosen by the seed'),
  seed: z.number().int().min(0).max(highestSeed).optional().describe('A random one by default'),
});

function addVerificationRoute(server: ApiServer, { app }: ConsoleContext): void {
  server.route({
    method: 'POST',
    url: '/api/v1/verifications',
    config: { access: 'operate' },
    schema: {
      summary: 'Starts a comparison of daily production at the service with the warehouse, which changes nothing',
      headers: keyHeaders,
      body: verificationBody,
      response: { 202: startedDocument, ...problems(400, 403, 422, 503) },
    },
    handler: async (request, reply) => {
      const { body } = request;
      const started = await startOnceByKey(app, request, body, () =>
        requestVerification(app, body, { nowMs: Date.now() }),
      );
      return reply.code(202).header('location', `/api/v1/runs/${started.runId}`).send(started);
    },
  });
}

/** Throws UsageError for days that are none, and where nothing names a target. */
async function requestOf(app: App, body: StartBody): Promise<JobRequest> {
  // Nothing reads standard input: no file is named.
  const stdin = Readable.from([]);
  if (body.export === 'daily-production') {
    const { likeAlert, ...input } = body;
    const nowMs = Date.now();
    if (likeAlert === undefined) return requestDailyProduction(app, input, { stdin, nowMs });
    if (input.uwis !== undefined) throw new UsageError('likeAlert and uwis exclude each other');
    const uwis = await wellsLikeAlert(app, likeAlert, nowMs);
    return requestDailyProduction(app, { ...input, uwis }, { stdin, nowMs });
  }
  const exported = definitionExport(({ name }) => name === body.export);
  const { fromWarehouse: isKnown, allowShrink: mayShrink } = body;
  const input = { names: body[exported.member], fromWarehouse: isKnown, allowShrink: mayShrink };
  return requestDefinitions(app, exported, input, { stdin });
}
