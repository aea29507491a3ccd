/** Runs: list, show, report, rejects, cancel and retry. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import { requireRole } from '../../app/access/access.ts';
import type { App } from '../../app/app.ts';
import { requestRunList } from '../../app/runs/find-runs.ts';
import { rejectsOfRun } from '../../app/pushes/push.ts';
import { holdsToRelease, releaseRows, standingHolds } from '../../app/runs/release.ts';
import { needsOfRetry, requireConfirmed, retryRun } from '../../app/runs/retry.ts';
import { countRuns, jobDescriptionOf, readKeptRuns, showRun, withLiveFigures } from '../../app/runs/run-status.ts';
import { readRunLog } from '../../app/runs/run-log.ts';
import { readRunUnits } from '../../app/runs/run-units.ts';
import { findKeyedRun } from '../../app/runs/start-run.ts';
import { reportDocument } from '../../app/runs/run-document.ts';
import { isoInstant } from '../../core/base/text.ts';
import { isFinished, type RunRecord } from '../../core/run/run.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { problems, runState } from './documents.ts';
import {
  heldRowsDocument,
  liveRunDocument,
  reportDocument as reportSchema,
  runListDocument,
  runLogDocument,
  runUnitsDocument,
  unitState,
} from './run-documents.ts';
import { keyHeaders, keyOf, startedDocument } from './idempotency.ts';

const runPath = z.object({ runId: z.string().max(60) });

const listQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  state: z
    .enum([...runState.options, 'exceptions'])
    .optional()
    .describe('`exceptions`: done, with exceptions'),
  job: z.string().max(200).optional(),
  well: z
    .string()
    .max(1_000)
    .optional()
    .describe('With a well, equipment or file of which this is a part, in any case; while its units are kept'),
  schedule: z.string().max(80).optional().describe('Of this schedule, begun by a tick or by hand'),
  by: z.string().max(200).optional().describe('A part of the name of whoever requested or retried it, in any case'),
  since: z.string().max(40).optional().describe('A day, or an ISO date-time: requested from then on'),
  until: z.string().max(40).optional().describe('Requested before then'),
  cursor: z.string().max(500).optional().describe('From the list before, or the id of its last run'),
  newer: z.string().max(500).optional().describe('From the list before: newer runs; not beside `cursor`'),
});

const unitsQuery = z.strictObject({
  state: unitState.optional(),
  name: z.string().max(1_000).optional().describe('A part of the name, in any case'),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});

/** A client may send no body where nothing is to be confirmed. */
const retryBody = z
  .strictObject({
    targets: z.number().int().optional().describe('Of a cleanup: the number of its open targets, which is confirmed'),
  })
  .nullish();

export function addRunRoutes(server: ApiServer, context: ConsoleContext): void {
  addListOfRuns(server, context);
  addOneRun(server, context);
  addRunDetails(server, context);
  addRejects(server, context);
  addRunChanges(server, context);
  addRelease(server, context);
}

function addListOfRuns(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/runs',
    config: { access: 'read' },
    schema: { summary: 'Runs, the newest first', querystring: listQuery, response: { 200: runListDocument } },
    handler: async ({ query }) => {
      const filter = requestRunList(query, { timeZone: app.config.timeZone, jobs: app.jobs });
      const { value, atMs } = await reader.read(['runs', filter], async () => ({
        kept: await readKeptRuns(app, filter),
        numbers: await countRuns(app, filter),
      }));
      const { kept, numbers } = value;
      return { ...(await withLiveFigures(app, kept)), numbers, asOf: isoInstant(atMs) };
    },
  });
}

function addOneRun(server: ApiServer, context: ConsoleContext): void {
  const { app } = context;
  server.route({
    method: 'GET',
    url: '/api/v1/runs/:runId',
    config: { access: 'read' },
    schema: { summary: 'A run', params: runPath, response: { 200: liveRunDocument, ...problems(404) } },
    handler: async ({ params }) => {
      const { run, atMs } = await knownRun(params.runId, context);
      return { ...(await showRun(app, run)), asOf: isoInstant(atMs) };
    },
  });
  server.route({
    method: 'GET',
    url: '/api/v1/runs/:runId/report',
    config: { access: 'read' },
    schema: {
      summary: 'The report of a run that has ended',
      params: runPath,
      response: { 200: reportSchema, ...problems(404, 409) },
    },
    handler: async ({ params }) => {
      const { run } = await knownRun(params.runId, context);
      if (run.report === undefined) {
        throw new RequestProblem(
          409,
          'run-not-ended',
          `run ${run.runId} is ${run.state}: its report is made at its end`,
        );
      }
      return reportDocument(run.report, jobDescriptionOf(run.job, app.jobs), () => undefined);
    },
  });
}

function addRunDetails(server: ApiServer, context: ConsoleContext): void {
  const { app, reader } = context;
  server.route({
    method: 'GET',
    url: '/api/v1/runs/:runId/units',
    config: { access: 'read' },
    schema: {
      summary: 'The wells, equipment or files of a run, with what became of each',
      params: runPath,
      querystring: unitsQuery,
      response: { 200: runUnitsDocument, ...problems(404) },
    },
    handler: async ({ params, query }) => {
      const { run } = await knownRun(params.runId, context);
      const key = ['units', run.runId, query] as const;
      return (await reader.read(key, () => readRunUnits(app, run, query))).value;
    },
  });
  server.route({
    method: 'GET',
    url: '/api/v1/runs/:runId/log',
    config: { access: 'read' },
    schema: {
      summary: 'The last lines of the log about a run',
      params: runPath,
      response: { 200: runLogDocument, ...problems(404, 503) },
    },
    handler: async ({ params }, reply) => {
      const { run } = await knownRun(params.runId, context);
      void reply.header('content-disposition', `attachment; filename="log-${run.runId}.json"`);
      return { lines: await readRunLog(app, run.runId) };
    },
  });
}

function addRejects(server: ApiServer, context: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/runs/:runId/rejects',
    config: { access: 'read' },
    schema: {
      summary: 'The rows that a push rejected, as a CSV file that can be fixed and pushed; 204 where there is none',
      params: runPath,
      response: { 200: z.string(), 204: z.null(), ...problems(404) },
    },
    handler: async ({ params }, reply) => {
      const { run } = await knownRun(params.runId, context);
      const rejects = await rejectsOfRun(run, context.app);
      if (rejects.bytes === 0) return reply.code(204).send(null);
      return reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="rejects-${run.runId}.csv"`)
        .send(Readable.from(rejects.read(), { objectMode: false }) as unknown as string);
    },
  });
}

function addRunChanges(server: ApiServer, context: ConsoleContext): void {
  const { app } = context;
  server.route({
    method: 'POST',
    url: '/api/v1/runs/:runId/cancel',
    config: { access: 'operate' },
    schema: {
      summary: 'Ends a run: what is done stays',
      params: runPath,
      response: {
        202: z.object({ runId: z.string(), outcome: z.enum(['requested', 'ended']) }),
        ...problems(404, 409),
      },
    },
    handler: async (request, reply) => {
      const { runId } = await runToChange(request.params.runId, app);
      const outcome = await (await app.runService()).cancel(runId, callerOf(request).actor);
      if (outcome === 'had-ended') throw new RequestProblem(409, 'run-ended', `run ${runId} had ended before`);
      return reply.code(202).send({ runId, outcome });
    },
  });
  server.route({
    method: 'POST',
    url: '/api/v1/runs/:runId/retry',
    config: { access: 'operate' },
    schema: {
      summary:
        'Queues again what failed, was cancelled or is unknown. A run that deletes needs the role delete; a cleanup, the number of its open targets as well',
      params: runPath,
      body: retryBody,
      response: {
        202: z.object({ runId: z.string(), units: z.number() }),
        ...problems(400, 403, 404, 409),
      },
    },
    handler: async (request, reply) => {
      const run = await runToChange(request.params.runId, app);
      const { runId, state } = run;
      const needs = await needsOfRetry(app, run);
      requireRole(callerOf(request), needs.role);
      if (!isFinished(state)) throw new RequestProblem(409, 'run-not-ended', `run ${runId} is ${state}`);
      requireConfirmed(needs, runId, request.body?.targets);
      const units = await retryRun(app, runId, { actor: callerOf(request).actor, connection: 'prompt' });
      if (units === 0) throw new RequestProblem(409, 'nothing-to-retry', `run ${runId} has nothing that failed`);
      return reply.code(202).send({ runId, units });
    },
  });
}

const releaseBody = z.strictObject({
  rows: z.number().int().positive().describe('The number of held rows that was shown: what is released'),
});

function addRelease(server: ApiServer, context: ConsoleContext): void {
  const { app, reader } = context;
  server.route({
    method: 'GET',
    url: '/api/v1/runs/:runId/release',
    config: { access: 'read' },
    schema: {
      summary: 'The rows that a run holds, as far as they still are: what a release would let go',
      params: runPath,
      response: { 200: heldRowsDocument, ...problems(404) },
    },
    handler: async ({ params }) => {
      const { run } = await knownRun(params.runId, context);
      const { value: held } = await reader.read(['holds', run.runId], () => standingHolds(app, run));
      return held ?? { targets: 0, rows: 0, holds: 0, parts: [] };
    },
  });
  server.route({
    method: 'POST',
    url: '/api/v1/runs/:runId/release',
    config: { access: 'delete' },
    schema: {
      summary: 'Starts a run that lets the rows go that a run holds, where the service still does not have them',
      headers: keyHeaders,
      params: runPath,
      body: releaseBody,
      response: { 202: startedDocument, ...problems(404, 409, 422) },
    },
    handler: async (request, reply) => {
      const { body } = request;
      const key = keyOf(request, body);
      const run = await runToChange(request.params.runId, app);
      const known = key && (await findKeyedRun(app, key));
      if (known !== undefined) return reply.code(202).send({ ...known, isRepeat: true });
      await holdsToRelease(app, run, body.rows);
      const requester = { actor: callerOf(request).actor, connection: 'prompt', key } as const;
      const started = await releaseRows(app, { of: run.runId, rows: body.rows }, requester);
      return reply.code(202).header('location', `/api/v1/runs/${started.runId}`).send(started);
    },
  });
}

/** As the reader shows it, which may be some seconds old. */
async function knownRun(
  runId: string,
  { app, reader }: ConsoleContext,
): Promise<{ readonly run: RunRecord; readonly atMs: number }> {
  const { value: run, atMs } = await reader.read(['run', runId], () => app.ledger.runs.read(runId));
  if (run === undefined) throw noRun(runId);
  return { run, atMs };
}

/** As it is. */
async function runToChange(runId: string, { ledger }: App): Promise<RunRecord> {
  const run = await ledger.runs.read(runId);
  if (run === undefined) throw noRun(runId);
  return run;
}

function noRun(runId: string): RequestProblem {
  return new RequestProblem(404, 'no-such-run', `there is no run ${JSON.stringify(runId)}`);
}
