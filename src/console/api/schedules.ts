/** Schedules: what starts by itself, when it did last and will next; started now, paused, resumed, applied. */
import { z } from 'zod';
import { roles } from '../../core/base/action.ts';
import type { Config } from '../../../config/schema.ts';
import { requireRole } from '../../app/access/access.ts';
import { checkBeforeRun } from '../../app/preflight.ts';
import { applyConfigured } from '../../app/schedules/apply-schedules.ts';
import {
  declaredSchedules,
  listSchedules,
  pauseSchedule,
  readSchedule,
  roleOf,
  roleToApply,
  type Schedule,
  scheduleDocument,
} from '../../app/schedules/schedule.ts';
import { scheduledRequest } from '../../app/schedules/scheduler.ts';
import { findKeyedRun, queueRunOnce } from '../../app/runs/start-run.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { asOf, instant, problems, runState } from './documents.ts';
import { keyHeaders, keyOf, startedDocument } from './idempotency.ts';

const scheduleShown = z.object({
  name: z.string(),
  cron: z.string(),
  cronWords: z.string().describe('The cron in words'),
  timeZone: z.string(),
  job: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  catchUp: z.enum(['latest', 'none']),
  role: z.enum(roles).describe('Who may trigger and resume it: `delete` where its runs delete'),
  paused: z.object({ at: instant, by: z.string() }).nullable(),
  next: instant.describe('The next tick, which a paused schedule will skip'),
  upcoming: z.array(z.string()).readonly().describe('The next three ticks'),
  lastTick: z
    .object({
      due: instant,
      outcome: z.enum(['starting', 'started', 'skipped', 'missed', 'failed']),
      because: z.string().nullable(),
    })
    .nullable(),
  runs: z
    .array(
      z.object({
        runId: z.string(),
        state: runState,
        requestedAt: z.string(),
        byHand: z.string().nullable().describe('Who began it; null where a tick did'),
      }),
    )
    .readonly()
    .describe('The newest of those that are kept, the latest first'),
});

const scheduleListDocument = z.object({
  revision: z.number().nullable().describe('Of the warehouse; null before the first application'),
  configuredRevision: z.number().nullable().describe('Of the configuration; null where it says nothing of schedules'),
  schedules: z.array(scheduleShown).readonly(),
  roleToApply: z
    .enum(roles)
    .describe('Who may apply those of the configuration: `delete` where one deletes and is new or changed'),
  asOf,
});

const schedulePath = z.object({ name: z.string().max(80) });

const refusals = problems(404, 409);

const triggeredDocument = startedDocument.extend({
  isUnderWay: z.boolean().describe('Whether a run for the same work had not ended: nothing was started'),
});

export function addScheduleRoutes(server: ApiServer, context: ConsoleContext): void {
  addListOfSchedules(server, context);
  addApplication(server, context);
  addTrigger(server, context);
  addPauses(server, context);
}

/** The configuration as it stands in its file. */
export function configNow({ app, readConfig }: Pick<ConsoleContext, 'app' | 'readConfig'>): Config {
  try {
    return readConfig();
  } catch {
    // Being written, or faulty: the list is of the warehouse.
    return app.config;
  }
}

function addListOfSchedules(server: ApiServer, context: ConsoleContext): void {
  const { app, reader } = context;
  server.route({
    method: 'GET',
    url: '/api/v1/schedules',
    config: { access: 'read' },
    schema: {
      summary: 'Schedules by name, each with its next tick, its last one and its last runs',
      response: { 200: scheduleListDocument },
    },
    handler: async () => {
      const { value, atMs } = await reader.read(['schedules'], () =>
        listSchedules(app, Date.now(), configNow(context)),
      );
      return { ...value, asOf: new Date(atMs).toISOString() };
    },
  });
}

function addApplication(server: ApiServer, { app, readConfig }: ConsoleContext): void {
  server.route({
    method: 'POST',
    url: '/api/v1/schedules/apply',
    config: { access: 'operate' },
    schema: {
      summary:
        'Takes the schedules of the configuration, which is read again, if its revision is higher. One that deletes and is new or changed needs the role delete',
      response: {
        200: z.object({
          isRepeat: z.boolean().describe('Whether they had been applied before'),
          revision: z.number(),
          schedules: z.array(z.string()).readonly(),
          isQueued: z.boolean().describe('Whether workers hear of them at once, or with their next look'),
        }),
        ...problems(400, 409),
      },
    },
    handler: async (request) => {
      const config = readConfig();
      const declared = declaredSchedules(config);
      if (declared !== undefined) {
        const { schedules } = await app.ledger.schedules.read();
        requireRole(callerOf(request), roleToApply(declared, schedules, app));
      }
      const applied = await applyConfigured(app, config);
      if ('refused' in applied) {
        const { message, hint = '' } = applied.refused;
        throw new RequestProblem(409, 'schedules-revision', message, { hint });
      }
      const { isRepeat, revision, names: schedules, isQueued } = applied;
      return { isRepeat, revision, schedules, isQueued };
    },
  });
}

function addTrigger(server: ApiServer, context: ConsoleContext): void {
  const { app } = context;
  server.route({
    method: 'POST',
    url: '/api/v1/schedules/:name/trigger',
    config: { access: 'operate' },
    schema: {
      summary:
        'Starts the run of a schedule now, paused or not; its ticks stay as they are. One that deletes needs the role delete',
      params: schedulePath,
      headers: keyHeaders,
      response: { 202: triggeredDocument, ...refusals, ...problems(422, 503) },
    },
    handler: async (request, reply) => {
      const { actor } = callerOf(request);
      const key = keyOf(request, {});
      const earlier = key && (await findKeyedRun(app, key));
      if (earlier !== undefined) return reply.code(202).send({ ...earlier, isRepeat: true, isUnderWay: false });
      const schedule = await namedSchedule(request.params.name, context);
      requireRole(callerOf(request), roleOf(schedule, app));
      const asked = await scheduledRequest(schedule, app, { requestedBy: actor, nowMs: Date.now() });
      await checkBeforeRun(app);
      const requester = { actor, connection: 'prompt', key } as const;
      const { runId, job, kind } = await queueRunOnce(app, asked, requester, { canWork: false });
      const started = { runId, job, isRepeat: false, isUnderWay: kind !== 'started' };
      return reply.code(202).header('location', `/api/v1/runs/${runId}`).send(started);
    },
  });
}

function addPauses(server: ApiServer, context: ConsoleContext): void {
  const { app } = context;
  const answer = { params: schedulePath, response: { 200: scheduleShown, ...refusals } };
  server.route({
    method: 'POST',
    url: '/api/v1/schedules/:name/pause',
    config: { access: 'operate' },
    schema: {
      summary: 'Skips the ticks of a schedule until it is resumed; a run that is under way goes on',
      ...answer,
    },
    handler: async (request) => {
      const schedule = await namedSchedule(request.params.name, context);
      await pauseSchedule(app, schedule.stored, callerOf(request).actor);
      return scheduleDocument(await namedSchedule(request.params.name, context), app, Date.now());
    },
  });
  server.route({
    method: 'POST',
    url: '/api/v1/schedules/:name/resume',
    config: { access: 'operate' },
    schema: {
      summary: 'Takes its ticks again; those that were skipped are not run. One that deletes needs the role delete',
      ...answer,
    },
    handler: async (request) => {
      const schedule = await namedSchedule(request.params.name, context);
      requireRole(callerOf(request), roleOf(schedule, app));
      await pauseSchedule(app, schedule.stored, undefined);
      return scheduleDocument(await namedSchedule(request.params.name, context), app, Date.now());
    },
  });
}

/** As it is. */
async function namedSchedule(name: string, { app }: ConsoleContext): Promise<Schedule> {
  const { schedules } = await app.ledger.schedules.read();
  const stored = schedules.find((each) => each.name === name);
  if (stored === undefined) {
    throw new RequestProblem(404, 'no-such-schedule', `there is no schedule ${JSON.stringify(name)}`);
  }
  const schedule = readSchedule(stored);
  if (schedule !== undefined) return schedule;
  throw new RequestProblem(409, 'other-version', `the schedule ${name} is of another version of wellsync`);
}
