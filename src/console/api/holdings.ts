/**
 * What the warehouse holds, with its documents: coverage, months, restatements, production and a well. Pages are whole
 * before they are sent.
 */
import { z } from 'zod';
import { contractDocument } from '../../app/warehouse/contract.ts';
import { coverageDocument, pluggedWells, requestCoverage } from '../../app/wells/coverage.ts';
import { pageOfRestatements, requestRestatements } from '../../app/wells/restatements.ts';
import { pageOfMonths, requestMonths } from '../../app/wells/months.ts';
import { isKnown, pageOfProduction, wellDocument } from '../../app/wells/well.ts';
import { rateBases } from '../../core/daily/units.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { asOf, instant, measure, problems, runState } from './documents.ts';

const text = z.string().min(1).max(1_000);

/** A name, or several: `uwi=A&uwi=B`. */
const uwis = z
  .union([text, z.array(text).max(1_000)])
  .optional()
  .describe('By default all wells');
const day = z.string().max(40).optional();
const cursor = z.string().max(3_000).optional().describe('From the page before');

export function addHoldingRoutes(server: ApiServer, context: ConsoleContext): void {
  addCoverage(server, context);
  addRestatements(server, context);
  addMonths(server, context);
  addContract(server, context);
  addWell(server, context);
  addProduction(server, context);
}

function addCoverage(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/coverage',
    config: { access: 'read' },
    schema: {
      summary: 'How complete daily production is: totals, and months',
      querystring: z.strictObject({ uwi: uwis, from: day, to: day.describe('The first day that is left out') }),
      response: { 200: coverageShown, ...problems(400) },
    },
    handler: async ({ query: { uwi, from, to } }) => {
      const { timeZone } = app.config;
      const asked = requestCoverage({ uwis: listOf(uwi), from, to }, { timeZone, nowMs: Date.now() });
      const { question, frame } = asked;
      const { value, atMs } = await reader.read(['coverage', asked], async () => {
        const plugged = await pluggedWells(app);
        const survey = { ...question, plugged };
        return app.warehouse.coverage.survey(survey, (found) => coverageDocument(frame, found));
      });
      return { ...value, asOf: new Date(atMs).toISOString() };
    },
  });
}

function addRestatements(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/restatements',
    config: { access: 'read' },
    schema: {
      summary: 'What the service said otherwise later, field by field, in the order of its notice',
      querystring: z.strictObject({
        since: z.string().max(40).describe('A day, or an ISO date-time: noticed from then on'),
        until: day,
        uwi: uwis,
        rows: z.coerce.number().int().min(1).max(1_000).default(200).describe('Restated rows of a page, about'),
        cursor,
      }),
      response: { 200: restatementsDocument, ...problems(400) },
    },
    handler: async ({ query }) => {
      const { since, until, uwi, rows, cursor: after } = query;
      const { timeZone } = app.config;
      const question = requestRestatements({ since, until, uwis: listOf(uwi) }, { timeZone, nowMs: Date.now() });
      const { value, atMs } = await reader.read(['restatements', query], () =>
        pageOfRestatements(app, question, { rows, cursor: after }),
      );
      return {
        restatements: value.restatements,
        cursor: value.cursor ?? null,
        asOf: new Date(atMs).toISOString(),
      };
    },
  });
}

function addMonths(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/months',
    config: { access: 'read' },
    schema: {
      summary: 'Volumes by well and month, with the days that they are of, and what was known of them at a time',
      querystring: z.strictObject({
        uwi: uwis,
        since: z.string().max(40).optional().describe('A day, or an ISO date-time: with the volumes as known then'),
        rows: z.coerce.number().int().min(1).max(5_000).default(1_000),
        cursor,
      }),
      response: { 200: monthsDocument, ...problems(400) },
    },
    handler: async ({ query }) => {
      const { uwi, since, rows, cursor: after } = query;
      const { timeZone } = app.config;
      const question = requestMonths({ uwis: listOf(uwi), since }, { timeZone, nowMs: Date.now() });
      const { value, atMs } = await reader.read(['months', query], () =>
        pageOfMonths(app, question, { rows, cursor: after }),
      );
      return { ...value, cursor: value.cursor ?? null, asOf: new Date(atMs).toISOString() };
    },
  });
}

function addContract(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/contract',
    config: { access: 'read' },
    schema: {
      summary: 'What the tables of the warehouse promise, by the Open Data Contract Standard 3.1.0',
      response: { 200: z.record(z.string(), z.unknown()), ...problems() },
    },
    handler: async () => (await reader.read(['contract'], () => contractDocument(app))).value,
  });
}

function addWell(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/wells/:uwi',
    config: { access: 'read' },
    schema: {
      summary: 'What the warehouse knows of a well: its days by state, its gaps, and what was restated',
      params: z.object({ uwi: text }),
      response: { 200: wellShown, ...problems(404) },
    },
    handler: async ({ params: { uwi } }) => {
      const { value, atMs } = await reader.read(['well', uwi], () => wellDocument(app, uwi, Date.now()));
      if (!isKnown(value)) {
        throw new RequestProblem(404, 'no-such-well', `the warehouse knows nothing of ${uwi}`);
      }
      const { columns: _, standings, ...rest } = value;
      const said = standings.map(({ parts: __, ...standing }) => standing);
      return { ...rest, standings: said, asOf: new Date(atMs).toISOString() };
    },
  });
}

function addProduction(server: ApiServer, { app, reader }: ConsoleContext): void {
  server.route({
    method: 'GET',
    url: '/api/v1/wells/:uwi/production',
    config: { access: 'read' },
    schema: {
      summary: 'The stored daily production of a well, by date',
      params: z.object({ uwi: text }),
      querystring: z.strictObject({
        from: day.describe('A production day'),
        to: day.describe('The first day that is left out'),
        limit: z.coerce.number().int().min(1).max(5_000).default(1_000),
        cursor,
      }),
      response: { 200: productionDocument, ...problems(404) },
    },
    handler: async ({ params: { uwi }, query }) => {
      const { value, atMs } = await reader.read(['production', [uwi, query]], () =>
        pageOfProduction(app, { uwi, ...query }),
      );
      if (value === undefined) throw new RequestProblem(404, 'no-such-well', `the warehouse has no row of ${uwi}`);
      return { uwi, rows: value.rows, cursor: value.cursor ?? null, asOf: new Date(atMs).toISOString() };
    },
  });
}

function listOf(given: z.output<typeof uwis>): readonly string[] | undefined {
  return given === undefined ? undefined : [given].flat();
}

// The documents: checked against src/app when they are compiled.

const dayCounts = {
  asked: z.number().describe('The sum of the four others'),
  present: z.number(),
  quarantined: z.number(),
  missing: z.number(),
  neverRead: z.number(),
};

const coverageShown = z.object({
  timeZone: z.string(),
  from: z.string().nullable().describe('Null: the first known day of each well'),
  to: z.string(),
  wells: z.number(),
  emptyWells: z.number(),
  wellsWithHoles: z.number(),
  days: z.object({ ...dayCounts, missingAfterLast: z.number() }),
  months: z.array(z.object({ month: z.string(), ...dayCounts })).readonly(),
  asOf,
});

const volumes = {
  oil: z.number().nullable(),
  gas: z.number().nullable(),
  water: z.number().nullable(),
};

const monthsDocument = z.object({
  rateBasis: z.enum(rateBases).describe('What a rate means for a volume'),
  units: z.record(z.string(), z.string()).describe('By column of monthly_production; unknown where nobody said it'),
  knownAt: instant.describe('The time of asKnown; null without since'),
  months: z
    .array(
      z.object({
        uwi: z.string(),
        month: z.string().describe('Its first day'),
        daysPresent: z.number(),
        daysMissing: z.number(),
        daysQuarantined: z.number(),
        hoursOn: z.number().nullable().describe('Null, like volumes, where no day has a row'),
        ...volumes,
        waterInjected: z.number().nullable(),
        gasInjected: z.number().nullable(),
        downtimeHours: z.number().nullable(),
        downtimeByCode: z
          .record(z.string(), z.number())
          .nullable()
          .describe('Hours by code; the empty code for hours without one'),
        asKnown: z.object(volumes).exactOptional().describe('At knownAt, by the basis of now'),
      }),
    )
    .readonly(),
  cursor: z.string().nullable(),
  asOf,
});

const restatementsDocument = z.object({
  restatements: z
    .array(
      z.object({
        day: z.string(),
        uwi: z.string(),
        change: z.enum(['updated', 'replaced', 'removed']),
        field: z.string().nullable().describe('Null where the whole row was removed'),
        old: measure,
        new: measure,
        runId: z.string(),
        noticedAt: z.string(),
      }),
    )
    .readonly(),
  cursor: z.string().nullable(),
  asOf,
});

const productionDocument = z.object({
  uwi: z.string(),
  rows: z
    .array(
      z.object({
        xid: z.string(),
        date: z.string(),
        day: z.string().nullable().describe('The production day in the zone of the well'),
        measures: z.record(z.string(), measure).describe('By column of daily_production'),
        extras: z.string().nullable().describe('JSON of the fields that the contract does not name'),
        counts: z.boolean().describe('False for a record of a day for which another one counts'),
      }),
    )
    .readonly(),
  cursor: z.string().nullable(),
  asOf,
});

const dayRange = z.object({ from: z.string(), to: z.string().describe('The first day behind them') });

const wellShown = z.object({
  uwi: z.string(),
  firstDay: z.string().nullable().describe('Null, like lastDay, for a well without a row'),
  lastDay: z.string().nullable(),
  readUpTo: instant,
  readTo: z.string().nullable().describe('The last day that a read has covered'),
  unknownSince: instant.describe('Since when the service does not know it'),
  standings: z
    .array(
      z.object({
        kind: z.string(),
        severity: z.enum(['error', 'warning', 'info']),
        sentence: z.string(),
        days: dayRange.nullable().describe('Those that a backfill would read'),
        runId: z.string().nullable().describe('The run that the sentence is about'),
      }),
    )
    .readonly()
    .describe('What is to be known of the well, why there is no data of yesterday first; at least one'),
  days: z.object({ ...dayCounts, undecided: z.number().describe('Asked, and not verified yet; not of asked') }),
  stretches: z
    .array(dayRange.extend({ state: z.string() }))
    .readonly()
    .describe('All days from the first one to today, which is not over, by state'),
  gaps: z
    .array(dayRange.extend({ lastDay: z.string(), days: z.number(), neverRead: z.number(), isOpen: z.boolean() }))
    .readonly()
    .describe('Days without a row, the latest first; to is the first day behind a gap, and an open one lasts to today'),
  quarantined: z
    .array(
      z.object({
        day: z.string().nullable(),
        xid: z.string().nullable(),
        reason: z.string(),
        raw: z.string().describe('The record as it came, or its beginning'),
        runId: z.string(),
        noticedAt: instant,
        accepted: z
          .object({ by: z.string(), at: z.string(), because: z.string() })
          .nullable()
          .describe('Who accepted it as it is; null where nobody did'),
      }),
    )
    .readonly()
    .describe('The first hundred records, the latest days first'),
  quarantinedRecords: z.number(),
  acceptedRecords: z.number().describe('Those of quarantinedRecords that a person accepted as they are'),
  holds: z
    .array(z.object({ rows: z.number(), firstDay: z.string(), lastDay: z.string(), runId: z.string(), since: instant }))
    .readonly(),
  reads: z
    .array(
      z.object({
        runId: z.string(),
        job: z.string(),
        runState,
        state: z.enum(['open', 'done', 'held', 'failed', 'unknown']),
        changed: z.number().describe('Rows that were inserted, updated and removed'),
        days: dayRange.nullable(),
        at: instant,
        fault: z.string().nullable(),
      }),
    )
    .readonly()
    .describe('The runs that read it, the latest first, at most twenty'),
  restated: z
    .array(
      z.object({
        day: z.string(),
        column: z.string().nullable().describe('Null where the whole row was removed'),
        before: z.number().nullable(),
        after: z.number().nullable(),
        noticedAt: z.string(),
        runId: z.string(),
      }),
    )
    .readonly()
    .describe('Of the columns of the plot, the latest first'),
  asOf,
});
