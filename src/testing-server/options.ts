/** Options of the testing server: every property that docs/interface.md leaves open. */
import { z } from 'zod';

const rate = z.number().min(0).max(1).default(0);
const sourceIds = z.array(z.string()).default([]);
const token = z.string().min(1).nullable().default(null);
const atLeastOne = z.int().min(1);

/** Share of /api requests for each fault, 0 to 1. There is one draw per request, so the sum is at most 1. */
const faultRatesSchema = z
  .strictObject({
    tooManyRequests: rate.describe('share of requests answered 429 with Retry-After'),
    unavailable: rate.describe('share of requests answered 503'),
    reset: rate.describe('share of requests whose connection is reset before anything happens'),
    resetAfterStoring: rate.describe(
      'share of POST and DELETE requests that take effect and are then reset unanswered',
    ),
    truncatedBody: rate.describe('share of answers whose body ends before its content-length'),
    htmlPage: rate.describe('share of requests answered 200 with an HTML page, as by a sign-in proxy'),
  })
  .refine((rates) => Object.values(rates).reduce((sum, share) => sum + share, 0) <= 1, {
    error: 'the rates of all faults together are above 1',
  });

export type FaultKind = keyof z.output<typeof faultRatesSchema>;

const bound = z.enum(['inclusive', 'exclusive', 'ignored']);
const regard = z.enum(['honoured', 'ignored']);

/**
 * Options with their defaults: a well-behaved service that numbers pages from 1. A command line can build its flags
 * from `shape` and the descriptions.
 */
export const testingServerOptionsSchema = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1').describe('address to listen on'),
    port: z.int().min(0).max(65_535).default(0).describe('port to listen on; 0 takes any free one'),
    seed: z.int().default(1).describe('seed of the drawn faults, the shuffled order and the repeated rows'),

    pageBase: z
      .union([z.literal(0), z.literal(1)])
      .default(1)
      .describe('number of the first page'),
    belowBase: z
      .enum(['bad-request', 'not-found', 'empty', 'first-page'])
      .default('bad-request')
      .describe('answer to a page below the first'),
    pastEnd: z.enum(['empty', 'not-found', 'last-page']).default('empty').describe('answer to a page past the last'),
    defaultLimit: atLeastOne.default(100).describe('rows on a page when no limit is sent'),
    maxLimit: atLeastOne.default(1000).describe('largest limit that is granted'),
    overLimit: z.enum(['clamp', 'bad-request']).default('clamp').describe('answer to a limit above the largest'),
    paging: regard
      .default('honoured')
      .describe('ignored: every page is the first one; with the limit ignored too, all rows come in one answer'),
    limit: regard.default('honoured').describe('ignored: pages have the default limit whatever is asked'),
    startBound: bound
      .default('inclusive')
      .describe('whether a row dated exactly startDate belongs to the range; ignored: earlier ones too'),
    endBound: bound
      .default('inclusive')
      .describe('whether a row dated exactly endDate belongs to the range; ignored: later ones too'),
    order: z
      .enum(['ascending', 'descending', 'shuffled'])
      .default('ascending')
      .describe('order of the rows by date; shuffled is the same for every request'),
    duplicateRate: rate.describe('share of rows that come again on the next page'),
    dateOffset: z
      .string()
      .regex(/^[+-]\d{2}(:?\d{2})?$/)
      .nullable()
      .default(null)
      .describe('writes every date with this offset, "+02:00", "+0200" or "+02" say; the instant stays'),

    unknownWell: z.enum(['not-found', 'empty']).default('not-found').describe('daily production of an unknown well'),
    wellAnswers: z.enum(['json', 'text']).default('json').describe('form of the single well'),
    unknownDelete: z
      .enum(['not-found', 'zero'])
      .default('not-found')
      .describe('answer to a deletion that finds nothing: 404, or 200 with 0'),

    forbiddenDeletions: sourceIds.describe('equipment and wells by source id whose deletions are answered 403'),
    idleDeletions: sourceIds.describe(
      'equipment and wells by source id whose deletions are answered 200 and remove nothing',
    ),

    compression: z
      .enum(['none', 'accepted', 'always'])
      .default('none')
      .describe('gzip of the answers; accepted: where the request accepts it; always: whatever the request says'),

    requiredToken: token.describe('bearer token that every /api request must carry'),
    maxBodyBytes: atLeastOne
      .default(16 * 1024 * 1024)
      .describe('largest bulk request in bytes; a larger one is answered 413'),
    rejectSourceIds: sourceIds.describe('pipes by source id for which a bulk request is refused'),
    rejectStatus: z
      .union([z.literal(400), z.literal(422)])
      .default(422)
      .describe('status of such a refusal'),
    pipeKey: z
      .enum(['ids', 'ids-and-date'])
      .default('ids')
      .describe('what tells pipes apart: network and source id, or these and the instant of the date'),
    bulkRejection: z
      .enum(['all-or-nothing', 'partial'])
      .default('all-or-nothing')
      .describe('partial: a refused bulk request has stored its other pipes nevertheless'),

    latencyMs: z.number().min(0).max(3_600_000).default(0).describe('delay before every /api request is handled'),
    retryAfterSeconds: z.int().min(0).default(1).describe('Retry-After of a 429'),
    faults: faultRatesSchema.prefault({}).describe('faults by rate'),
    down: z.boolean().default(false).describe('resets every /api connection, as if nobody were there'),
  })
  .refine((options) => options.defaultLimit <= options.maxLimit, {
    error: 'is above maxLimit: a page without a limit would be larger than any may be',
    path: ['defaultLimit'],
  });

export type TestingServerOptions = Readonly<z.output<typeof testingServerOptionsSchema>>;
export type TestingServerOptionsInput = z.input<typeof testingServerOptionsSchema>;

/**
 * The options after a change while the server runs; `faults` is merged rate by rate. Throws ZodError for a wrong value
 * or name, and for `host` and `port`, which cannot change.
 */
export function changedOptions(current: TestingServerOptions, change: unknown): TestingServerOptions {
  const { faults, ...others } = optionsChangeSchema.parse(change);
  return testingServerOptionsSchema.parse({ ...current, ...others, faults: { ...current.faults, ...faults } });
}

const optionsChangeSchema = z.looseObject({
  host: z.never({ error: 'cannot change while the server runs' }).optional(),
  port: z.never({ error: 'cannot change while the server runs' }).optional(),
  faults: z.looseObject({}).optional(),
});

/** The options without secrets: the token only as set or not. */
export function shownOptions(options: TestingServerOptions): TestingServerOptions {
  return { ...options, requiredToken: options.requiredToken === null ? null : '(set)' };
}
