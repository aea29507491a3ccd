/** The pages of the console: each reads, and asks the HTTP API for what changes something. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JSX } from 'preact';
import { z } from 'zod';
import { listPlans, planMaxAgeMs, withWarnings } from '../../app/cleanups/plan-cleanup.ts';
import { refusalOf, warningsOf } from '../../app/cleanups/plan-document.ts';
import { checksOfParts } from '../../app/health/health.ts';
import { requestRunList } from '../../app/runs/find-runs.ts';
import { overviewOf } from '../../app/runs/overview.ts';
import { needsOfRetry, standingHolds } from '../../app/runs/retry.ts';
import { readRunLog } from '../../app/runs/run-log.ts';
import { jobDescriptionOf, readKeptPushes, readKeptRuns, viewOf, withLiveFigures } from '../../app/runs/run-status.ts';
import { listSchedules } from '../../app/schedules/schedule.ts';
import { serviceViewOf } from '../../app/service/service-view.ts';
import { versionOfPackage } from '../../app/version.ts';
import { coverageBlockOf, type CoverageMap, coverageMapOf } from '../../app/wells/coverage-map.ts';
import { staleWells, unknownWells } from '../../app/wells/coverage.ts';
import { wellSeriesOf, wellViewOf } from '../../app/wells/well.ts';
import type { Fault } from '../../core/base/errors.ts';
import { callerOf } from '../admission.ts';
import { configNow } from '../api/schedules.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { CleanupPage, PlanPage } from './cleanup.tsx';
import { CoveragePage, StalePage, UnknownPage } from './coverage.tsx';
import type { Reader } from './forms.tsx';
import { type Frame, pageOf, partOf } from './frame.tsx';
import { OverviewBody, OverviewPage } from './overview.tsx';
import { replyWithError } from './problem-page.tsx';
import { PushPage } from './push.tsx';
import { NoSuchRun, RunBody, RunPage, type ShownRun } from './run.tsx';
import { RunsPage } from './runs.tsx';
import { SchedulesPage } from './schedules.tsx';
import { ServicePage } from './service.tsx';
import { WellPage } from './well.tsx';

/** How long the wells of a map are those of its blocks. */
const mapMs = 300_000;

/** Of a plan, which the command line shows whole. */
const mostTargetsShown = 100;

/** What a page is made of: the frame, and who reads it. */
interface Shown {
  readonly frame: Frame;
  readonly caller: Reader;
  readonly nowMs: number;
}

interface PageRoute<Params, Query> {
  readonly url: string;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  readonly page: (
    shown: Shown,
    asked: { readonly params: Params; readonly query: Query; readonly request: FastifyRequest },
    reply: FastifyReply,
  ) => Promise<JSX.Element>;
}

export class Pages {
  readonly #server: ApiServer;
  readonly #context: ConsoleContext;
  /** Its blocks are those of these wells, in this order. */
  #lastMap: { readonly atMs: number; readonly map: CoverageMap } | undefined;

  constructor(server: ApiServer, context: ConsoleContext) {
    this.#server = server;
    this.#context = context;
  }

  addAll(): void {
    this.#addOverview();
    this.#addRuns();
    this.#addRun();
    this.#addCoverage();
    this.#addWell();
    this.#addPush();
    this.#addCleanup();
    this.#addServiceAndSchedules();
  }

  #add<Params = unknown, Query = unknown>({ url, params, query, page }: PageRoute<Params, Query>): void {
    this.#server.route({
      method: 'GET',
      url,
      config: { access: 'read' },
      schema: {
        hide: true,
        ...(params === undefined ? {} : { params }),
        ...(query === undefined ? {} : { querystring: query }),
      },
      errorHandler: (error, request, reply) => replyWithError(error, { request, reply, context: this.#context }),
      handler: async (request, reply) => {
        const asked = { params: request.params as Params, query: request.query as Query, request };
        const made = await page(await this.#shown(request), asked, reply);
        return reply.type('text/html; charset=utf-8').send(pageOf(made));
      },
    });
  }

  async #shown(request: FastifyRequest): Promise<Shown> {
    const frame = await frameOf(this.#context, request);
    const { key: pageKey = randomUUID() } = request.query as { readonly key?: string };
    return { frame, caller: { role: callerOf(request).role, pageKey }, nowMs: Date.now() };
  }

  /** A part of a page, which its script asks for again and again, with the key of the page: its forms keep that key. */
  #addPart(url: string, part: (request: FastifyRequest) => Promise<{ element: JSX.Element; isEnded: boolean }>): void {
    this.#server.route({
      method: 'GET',
      url,
      config: { access: 'read' },
      schema: { hide: true, querystring: z.object({ key: z.uuid().optional() }) },
      handler: async (request, reply) => {
        const { element, isEnded } = await part(request);
        const html = partOf(element);
        const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`;
        void reply.header('etag', etag).header('x-ended', String(isEnded));
        if (request.headers['if-none-match'] === etag) return reply.code(304).send();
        return reply.type('text/html; charset=utf-8').send(html);
      },
    });
  }

  #addOverview(): void {
    const { app, reader } = this.#context;
    const read = async () => (await reader.read('overview', () => overviewOf(app, Date.now()))).value;
    this.#add({
      url: '/',
      page: async ({ frame }) => <OverviewPage frame={frame} overview={await read()} jobs={app.jobs} />,
    });
    this.#addPart('/live', async () => ({
      element: <OverviewBody overview={await read()} jobs={app.jobs} />,
      isEnded: false,
    }));
  }

  #addRuns(): void {
    const { app, reader } = this.#context;
    const text = z.string().max(500).default('');
    this.#add({
      url: '/runs',
      query: z.object({ state: text, job: text, since: text, cursor: text }),
      page: async ({ frame }, { query }) => {
        const filter = { state: query.state, job: query.job, since: query.since };
        const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
        const asked = requestRunList({ limit: 50, ...given }, { timeZone: app.config.timeZone });
        const { value } = await reader.read(`runs ${JSON.stringify(asked)}`, () => readKeptRuns(app, asked));
        return <RunsPage frame={frame} list={await withLiveFigures(app, value)} jobs={app.jobs} filter={filter} />;
      },
    });
  }

  #addRun(): void {
    const params = z.object({ runId: z.string().max(60) });
    this.#add({
      url: '/runs/:runId',
      params,
      page: async ({ frame, caller }, { params: { runId } }, reply) => {
        const shown = await this.#runOf(runId, caller);
        if (shown !== undefined) return <RunPage frame={frame} shown={shown} />;
        void reply.code(404);
        return <NoSuchRun frame={frame} runId={runId} />;
      },
    });
    this.#addPart('/runs/:runId/live', async (request) => {
      const { runId } = request.params as z.output<typeof params>;
      const { caller } = await this.#shown(request);
      const shown = await this.#runOf(runId, caller);
      if (shown === undefined) throw new RequestProblem(404, 'no-such-run', `there is no run ${runId}`);
      return { element: <RunBody {...shown} />, isEnded: shown.run.report !== undefined };
    });
  }

  async #runOf(runId: string, caller: Reader): Promise<ShownRun | undefined> {
    const { app, reader } = this.#context;
    const { value: run } = await reader.read(`run ${runId}`, () => app.ledger.runs.read(runId));
    if (run === undefined) return undefined;
    const { status, isUnattended, hold, outage, liveFault } = await viewOf(app, run);
    const job = jobDescriptionOf(run.job, app.jobs);
    const live = { ...status, isUnattended: isUnattended ?? false, hold, outage };
    const { value: retry } = await reader.read(`retry ${runId} ${run.generation} ${run.state}`, () =>
      needsOfRetry(app, run),
    );
    const log = await readRunLog(app, runId);
    const { value: held } = await reader.read(`holds ${runId}`, () => standingHolds(app, run));
    return { run, job, retry, live, liveFault, adviceOf, log, held, reader: caller, nowMs: Date.now() };
  }

  async #readMap(nowMs: number): Promise<CoverageMap> {
    const { app, reader } = this.#context;
    const { value: map } = await reader.read('coverage', () => coverageMapOf(app, nowMs));
    this.#lastMap = { atMs: nowMs, map };
    return map;
  }

  #addCoverage(): void {
    const { app, reader } = this.#context;
    this.#add({
      url: '/coverage',
      page: async ({ frame, caller, nowMs }) => {
        const value = await this.#readMap(nowMs);
        return <CoveragePage frame={frame} map={value} reader={caller} />;
      },
    });
    this.#server.route({
      method: 'GET',
      url: '/coverage/block',
      config: { access: 'read' },
      schema: { hide: true, querystring: z.object({ from: z.coerce.number().int().min(0) }) },
      handler: async ({ query: { from } }) => {
        const nowMs = Date.now();
        const { atMs, map } = this.#lastMap ?? { atMs: -Infinity, map: undefined };
        const { uwis: all } = map === undefined || nowMs - atMs > mapMs ? await this.#readMap(nowMs) : map;
        const question = { all, from, nowMs };
        return (await reader.read(`coverage from ${from}`, () => coverageBlockOf(app, question))).value;
      },
    });
    this.#add({
      url: '/coverage/stale',
      page: async ({ frame, nowMs }) => {
        const { value } = await reader.read('stale', () => staleWells(app, { nowMs }));
        return <StalePage frame={frame} wells={value} warnAfterDays={app.config.freshness.warnAfterDays} />;
      },
    });
    this.#add({
      url: '/coverage/unknown',
      page: async ({ frame }) => {
        const { value } = await reader.read('unknown', () => unknownWells(app, {}));
        return <UnknownPage frame={frame} wells={value} />;
      },
    });
  }

  #addWell(): void {
    const { app, reader } = this.#context;
    const params = z.object({
      uwi: z
        .string()
        .max(1_000)
        .regex(/^[^\0]*$/, 'holds a NUL'),
    });
    const day = z.iso.date().optional();
    this.#server.route({
      method: 'GET',
      url: '/coverage/well',
      config: { access: 'read' },
      schema: { hide: true, querystring: z.object({ uwi: z.string().min(1).max(1_000) }) },
      handler: async ({ query: { uwi } }, reply) => reply.redirect(`/wells/${encodeURIComponent(uwi)}`, 303),
    });
    this.#add({
      url: '/wells/:uwi',
      params,
      query: z.object({
        from: day,
        to: day,
        month: z
          .string()
          .regex(/^\d{4}-\d{2}$/)
          .optional(),
      }),
      page: async ({ frame, caller, nowMs }, { params: { uwi }, query }) => {
        const { value } = await reader.read(`well ${uwi}`, () => wellViewOf(app, uwi, nowMs));
        return <WellPage frame={frame} well={value} proposed={proposedOf(query)} reader={caller} />;
      },
    });
    this.#server.route({
      method: 'GET',
      url: '/wells/:uwi/series',
      config: { access: 'read' },
      schema: { hide: true, params },
      handler: async ({ params: { uwi } }) => (await reader.read(`series ${uwi}`, () => wellSeriesOf(app, uwi))).value,
    });
  }

  #addPush(): void {
    const { app, reader } = this.#context;
    this.#add({
      url: '/push',
      page: async ({ frame, caller }) => {
        const { value } = await reader.read('pushes', () => readKeptPushes(app, 10));
        const pushes = await withLiveFigures(app, value);
        const maxBytes = app.config.http.maxUploadMb * 1_000_000;
        return <PushPage frame={frame} pushes={pushes} jobs={app.jobs} maxBytes={maxBytes} reader={caller} />;
      },
    });
  }

  #addCleanup(): void {
    const { app, reader } = this.#context;
    const { cleanupPlans } = app.ledger;
    this.#add({
      url: '/cleanup',
      page: async ({ frame, caller }) => {
        const { value } = await reader.read('plans', () => listPlans(cleanupPlans, { limit: 50 }));
        return <CleanupPage frame={frame} plans={value.plans} reader={caller} />;
      },
    });
    this.#add({
      url: '/cleanup/:planId',
      params: z.object({ planId: z.string().max(60) }),
      page: async ({ frame, caller, nowMs }, { params: { planId } }) => {
        const { value } = await reader.read(`plan page ${planId}`, async () => {
          const plan = await cleanupPlans.read(planId);
          if (plan === undefined) return undefined;
          const targets = await cleanupPlans.targets(planId, { from: 0, limit: mostTargetsShown });
          return { ...(await withWarnings(plan, cleanupPlans)), targets };
        });
        if (value === undefined) throw new RequestProblem(404, 'no-such-plan', `there is no plan ${planId}`);
        const { plan } = value;
        const refusal = refusalOf(plan, { nowMs, maxAgeMs: planMaxAgeMs(app.config) });
        return <PlanPage frame={frame} shown={value} refusal={refusal} warnings={warningsOf(plan)} reader={caller} />;
      },
    });
  }

  #addServiceAndSchedules(): void {
    const { app, reader } = this.#context;
    this.#add({
      url: '/service',
      query: z.object({ check: z.literal('yes').optional() }),
      page: async ({ frame, caller }, { query }) => {
        const findings = query.check === undefined ? undefined : await checksOfParts(app.config, undefined);
        const shown = { ...(await serviceViewOf(app, reader)), findings };
        return <ServicePage frame={frame} shown={shown} adviceOf={adviceOf} reader={caller} />;
      },
    });
    this.#add({
      url: '/schedules',
      page: async ({ frame, caller, nowMs }) => {
        const { value } = await reader.read('schedules', () => listSchedules(app, nowMs, configNow(this.#context)));
        return <SchedulesPage frame={frame} list={value} reader={caller} />;
      },
    });
  }
}

function adviceOf({ hint }: Pick<Fault, 'hint'>): string | undefined {
  return hint;
}

interface Proposed {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly month?: string | undefined;
}

function proposedOf({ from, to, month }: Proposed): { readonly from: string; readonly to: string } | undefined {
  if (from !== undefined && to !== undefined) return { from, to };
  if (month === undefined) return undefined;
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { from: `${month}-01`, to: new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10) };
}

/** Where the data comes from and goes to, and who looks. */
const version = versionOfPackage();

async function frameOf({ app, reader }: ConsoleContext, request: FastifyRequest): Promise<Frame> {
  const { value } = await reader.read('service', () => app.ledger.ownership.read());
  const { identity } = request;
  const user =
    identity === null || identity.kind === 'loopback'
      ? undefined
      : { name: identity.name, role: identity.role, mayLeave: identity.session !== undefined };
  return { service: value.service, warehouse: app.warehouse.location, version, nowMs: Date.now(), user };
}
