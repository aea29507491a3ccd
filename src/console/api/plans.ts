/** Plans of cleanups: made from the targets of a request, and applied by whoever may delete and types their number. */
import type { FastifyReply } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { askService } from '../../app/service/ask-service.ts';
import { checkBeforeWork } from '../../app/preflight.ts';
import {
  applicationOf,
  listPlans,
  planTargets,
  recordApplication,
  refuseUnappliable,
  showPlan,
  withWarnings,
} from '../../app/cleanups/plan.ts';
import { ofUpload, targetsOfTable } from '../../app/cleanups/cleanup-targets.ts';
import { refuseEmpty } from '../../app/exports/target-input.ts';
import { findKeyedRun } from '../../app/runs/start-run.ts';
import { type PlanDocument, planDocument, unkeptPlanDocument } from '../../app/cleanups/plan-document.ts';
import { counted, figure } from '../../core/base/text.ts';
import type { CleanupPlan } from '../../core/cleanup/plan.ts';
import { type DeletionTarget, targetKinds } from '../../core/cleanup/target.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { asOf, problems } from './documents.ts';
import { keyHeaders, keyOf, startByKey, startedDocument } from './idempotency.ts';

const planCounts = z.object({
  targets: z.number(),
  timeSeries: z.number(),
  microStrings: z.number(),
  wellbores: z.number(),
  equipment: z.number(),
  wells: z.number(),
  repeated: z.number(),
  unknown: z.number(),
  unreadable: z.number(),
  producing: z.number(),
  unread: z.number().exactOptional(),
  unmapped: z.number().exactOptional(),
  knownWells: z.number(),
});

const plannedTarget = z.object({
  ordinal: z.number(),
  kind: z.enum(targetKinds),
  ownerId: z.string(),
  sourceId: z.string().nullable(),
  text: z.string().describe('What it is, in words'),
  producedOn: z.string().nullable(),
  doubt: z.string().nullable(),
  sighting: z.enum(['present', 'absent', 'unreadable']),
});

const planShown = z.object({
  planId: z.string().nullable().describe('Null for a plan that is not kept'),
  digest: z.string(),
  serviceUrl: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  selection: z.string().nullable(),
  selectionSha256: z.string().nullable(),
  includesProducing: z.boolean(),
  state: z.enum(['planned', 'claimed', 'applied', 'dry run']),
  counts: planCounts,
  caps: z
    .object({ maxTargets: z.number(), maxShareOfWellsPercent: z.number() })
    .nullable()
    .describe('The caps that it was made within; null for a plan of an earlier version'),
  consequences: z.array(z.string()).readonly().describe('What its deletions do that nothing can undo, show or list'),
  applied: z.object({ runId: z.string(), by: z.string(), at: z.string() }).nullable(),
  remarks: z.array(z.string()).readonly().describe('What deserves a look, in words'),
  warnings: z.array(plannedTarget).readonly().describe('The first targets that deserve a look'),
});

const shownPlan = planShown.extend({
  targets: z.array(plannedTarget).readonly().describe('The first hundred, in the order of their deletion'),
  refusal: z.string().nullable().describe('Why it cannot be applied: a run has it, or it is too old; null if it can'),
});

const planListDocument = z.object({
  plans: z.array(planShown).readonly(),
  cursor: z.string().nullable(),
  asOf,
});

const planPath = z.object({ planId: z.string().max(60) });
const id = z.string().max(1_000).default('');

const planBody = z.strictObject({
  targets: z
    .array(
      z.strictObject({
        kind: z.enum(targetKinds),
        well: id.describe('Source id of the well, for micro strings and wellbores'),
        equipment: id.describe('Source id of the equipment, for a time series'),
        sourceId: id.describe('Source id of the record, for a time series'),
      }),
    )
    .max(100_000)
    .describe('At least one: an empty list is 422'),
  includeProducing: z.boolean().default(false).describe('Targets of producing wells are to be deleted too'),
  dryRun: z.boolean().default(false).describe('The plan is shown, and not kept'),
});

const applyBody = z.strictObject({
  targets: z.number().int().describe('The number of targets of the plan: what is confirmed'),
});

export async function addPlanRoutes(server: ApiServer, context: ConsoleContext): Promise<void> {
  addPlanReads(server, context);
  addPlanMaking(server, context);
  addPlanApplication(server, context);
  // Here alone CSV is read; of another type a body is 415.
  await server.register(async (scope) => {
    const own = scope.withTypeProvider<ZodTypeProvider>();
    own.removeAllContentTypeParsers();
    own.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    addPlanOfFile(own, context);
  });
}

function addPlanReads(server: ApiServer, { app, reader }: ConsoleContext): void {
  const { cleanupPlans } = app.ledger;
  server.route({
    method: 'GET',
    url: '/api/v1/plans',
    config: { access: 'read' },
    schema: {
      summary: 'Plans of cleanups, the newest first',
      querystring: z.strictObject({
        limit: z.coerce.number().int().min(1).max(200).default(50),
        cursor: z.string().max(500).optional().describe('From the list before'),
      }),
      response: { 200: planListDocument },
    },
    handler: async ({ query }) => {
      const { value, atMs } = await reader.read(['plans', query], () => listPlans(cleanupPlans, query));
      const plans = value.plans.map((plan) => planDocument({ plan, warned: [] }));
      return { plans, cursor: value.cursor ?? null, asOf: new Date(atMs).toISOString() };
    },
  });
  server.route({
    method: 'GET',
    url: '/api/v1/plans/:planId',
    config: { access: 'read' },
    schema: {
      summary: 'A plan, with its first targets and those that deserve a warning',
      params: planPath,
      response: { 200: shownPlan, ...problems(404) },
    },
    handler: async ({ params: { planId } }) => {
      const { value } = await reader.read(['plan', planId], async () => {
        const plan = await cleanupPlans.read(planId);
        return plan && showPlan(await withWarnings(plan, cleanupPlans), app, Date.now());
      });
      if (value === undefined) throw noPlan(planId);
      return value;
    },
  });
}

function addPlanMaking(server: ApiServer, context: ConsoleContext): void {
  server.route({
    method: 'POST',
    url: '/api/v1/plans',
    config: { access: 'operate' },
    schema: {
      summary: 'Makes the plan of a cleanup: it deletes nothing',
      body: planBody,
      response: { 200: planShown, 201: planShown, ...problems(400, 422, 503) },
    },
    handler: async (request, reply) => {
      const { targets, includeProducing, dryRun } = request.body;
      const named = targetsOf(targets);
      return makePlan(named, { includeProducing, dryRun, by: callerOf(request).actor }, reply, context);
    },
  });
}

const fileQuery = z.strictObject({
  name: z
    .string()
    .regex(/^\P{Cc}{1,200}$/u, 'may hold up to 200 characters, and no control character')
    .default('the file')
    .describe('What messages call the file'),
  includeProducing: z.stringbool().default(false).describe('Targets of producing wells are to be deleted too'),
  dryRun: z.stringbool().default(false).describe('The plan is shown, and not kept'),
});

function addPlanOfFile(server: ApiServer, context: ConsoleContext): void {
  server.route({
    method: 'POST',
    url: '/api/v1/plans/file',
    config: { access: 'operate' },
    schema: {
      summary: 'Makes the plan of a cleanup from a file of targets (kind,well,equipment,source_id): it deletes nothing',
      consumes: ['text/csv'],
      querystring: fileQuery,
      response: { 200: planShown, 201: planShown, ...problems(400, 413, 415, 422, 503) },
    },
    handler: async (request, reply) => {
      const { name, ...how } = request.query;
      const content = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const targets = await ofUpload(name, content);
      return makePlan(targets, { ...how, by: callerOf(request).actor }, reply, context);
    },
  });
}

interface PlanMaking {
  readonly includeProducing: boolean;
  readonly dryRun: boolean;
  readonly by: string;
}

/** The document of the plan; says in the head of the answer where it is kept. */
async function makePlan(
  targets: readonly DeletionTarget[],
  { includeProducing: includesProducing, dryRun, by: createdBy }: PlanMaking,
  reply: Pick<FastifyReply, 'code' | 'header' | 'raw'>,
  context: ConsoleContext,
): Promise<PlanDocument | ReturnType<typeof unkeptPlanDocument>> {
  const { app } = context;
  await checkBeforeWork(app);
  const asked = { targets, createdBy, keep: !dryRun, includesProducing };
  const made = await askService(app, whileAsked(reply, context), (service, read) =>
    planTargets(asked, app.config, service, read),
  );
  if (dryRun) return unkeptPlanDocument(made);
  void reply.code(201);
  void reply.header('location', `/api/v1/plans/${made.plan.planId}`);
  return planDocument(made);
}

function addPlanApplication(server: ApiServer, context: ConsoleContext): void {
  const { app } = context;
  server.route({
    method: 'POST',
    url: '/api/v1/plans/:planId/apply',
    config: { access: 'delete' },
    schema: {
      summary: 'Deletes what the plan names, and nothing else',
      params: planPath,
      headers: keyHeaders,
      body: applyBody,
      response: { 202: startedDocument, ...problems(404, 409, 422) },
    },
    handler: async (request, reply) => {
      const { planId } = request.params;
      const key = keyOf(request, request.body);
      const earlier = key && (await findKeyedRun(app, key));
      if (earlier !== undefined) return reply.code(202).send({ ...earlier, isRepeat: true });
      const plan = await app.ledger.cleanupPlans.read(planId);
      if (plan === undefined) throw noPlan(planId);
      requireConfirmed(plan, request.body.targets);
      const checkedAtMs = Date.now();
      await checkBeforeWork(app);
      await askService(app, whileAsked(reply, context), (service, read) =>
        refuseUnappliable(plan, app.config, service, { ...read, onRead: () => undefined }),
      );
      const requestedBy = callerOf(request).actor;
      const started = await startByKey(app, request, key, applicationOf(plan, { checkedAtMs, requestedBy }));
      await recordApplication(plan, started.runId, requestedBy, app);
      return reply.code(202).header('location', `/api/v1/runs/${started.runId}`).send(started);
    },
  });
}

/** G6: whoever applies a plan has seen how much it deletes. */
function requireConfirmed({ planId, counts }: CleanupPlan, typed: number): void {
  if (typed === counts.targets) return;
  throw new RequestProblem(
    409,
    'not-confirmed',
    `plan ${planId} has ${counted(counts.targets, 'target')}, and not ${figure(typed)}`,
    {
      hint: 'Nothing was deleted. Look at the plan, and confirm the number of its targets.',
    },
  );
}

/** The same checks as those of a file. Throws UsageError with every fault. */
function targetsOf(targets: z.output<typeof planBody>['targets']): readonly DeletionTarget[] {
  refuseEmpty(targets, 'targets');
  const rows = targets.map(({ kind, well, equipment, sourceId }, index) => ({
    position: `target ${index + 1}`,
    cells: [kind, well.trim(), equipment.trim(), sourceId.trim()],
  }));
  return targetsOfTable({ name: 'the request', columns: ['kind', 'well', 'equipment', 'source_id'], rows });
}

/** Ends the requests to the service when the client leaves, or the server stops. */
function whileAsked(
  reply: Pick<FastifyReply, 'raw'>,
  { log, stopping }: ConsoleContext,
): Parameters<typeof askService<unknown>>[1] {
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  return { log, signal: AbortSignal.any([left.signal, stopping]) };
}

function noPlan(planId: string): RequestProblem {
  return new RequestProblem(404, 'no-such-plan', `there is no plan ${JSON.stringify(planId)}`);
}
