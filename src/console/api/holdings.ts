/** What the warehouse holds: coverage, restatements, and the production of a well. Pages are whole before they are sent. */
import { z } from 'zod';
import { contractDocument } from '../../app/warehouse/contract.ts';
import { coverageDocument, pluggedWells, requestCoverage } from '../../app/wells/coverage.ts';
import { pageOfMonths, requestMonths } from '../../app/wells/months.ts';
import { pageOfRestatements, requestRestatements } from '../../app/wells/restatements.ts';
import { isKnown, pageOfProduction, wellDocument } from '../../app/wells/well.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { problems } from './documents.ts';
import {
  coverageShown,
  monthsDocument,
  productionDocument,
  restatementsDocument,
  wellShown,
} from './well-documents.ts';

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
