/** Owns what an operator may set: the one schema behind the file, the environment and the flags. */
import { z } from 'zod';
import { tierDays, type LookbackTier } from '../src/core/lookback.ts';
import { defaultPipeLimits, listFields, pipeFields } from '../src/core/pipe-fields.ts';

const ms = (fallback: number) => z.number().int().positive().default(fallback);
const count = (fallback: number) => z.number().int().positive().default(fallback);
const text = z.string().trim().min(1);

const httpUrl = (example: string) =>
  z
    .url({ protocol: /^https?$/, error: `must be an http or https address, such as ${example}` })
    .refine(
      (url) => !/^https?:\/\/[^/]*@/.test(url),
      'must hold no user name or password: secrets have settings of their own',
    );

/** The ways in which a token is had; a service that asks for none needs none of them. */
export const tokenWays = ['token', 'tokenFile', 'oauth'] as const;

/** OAuth 2.0 client credentials (RFC 6749 section 4.4). */
const clientCredentials = z
  .strictObject({
    tokenUrl: httpUrl('https://login.example.com/oauth2/token'),
    clientId: text,
    clientSecret: text.optional(),
    clientSecretFile: text.optional(),
    scope: text.optional(),
    audience: text.optional(),
    credentialsIn: z.enum(['header', 'form']).default('header'),
  })
  .refine(({ clientSecret, clientSecretFile }) => (clientSecret === undefined) !== (clientSecretFile === undefined), {
    error: 'needs either clientSecret or clientSecretFile',
  });

const tls = z
  .strictObject({
    caFile: text.optional(),
    certFile: text.optional(),
    keyFile: text.optional(),
    passphrase: text.optional(),
    passphraseFile: text.optional(),
  })
  .refine(({ certFile, keyFile }) => keyFile === undefined || certFile !== undefined, {
    error: 'is the key of a certificate: name that by certFile',
    path: ['keyFile'],
  })
  .refine(({ passphrase, passphraseFile }) => passphrase === undefined || passphraseFile === undefined, {
    error: 'passphrase and passphraseFile exclude each other',
    path: ['passphraseFile'],
  });

const day = z.iso.date({ error: 'must be a day, such as 1990-01-01' });

const timeZone = text.refine(isTimeZone, 'must be the name of a time zone, such as UTC or Europe/Oslo');

/** Names joined by dots, into the body of a well. */
const fieldPath = text.regex(/^[^."]+(\.[^."]+)*$/, 'must be names joined by dots, such as location.timeZone');

const lookbackDays = z.number().int().nonnegative();

/** A number of days for every run, or tiers, each with the day that it comes on. */
const lookback = z
  .union(
    [
      lookbackDays.transform((days): readonly LookbackTier[] => [{ days }]),
      z.array(z.strictObject({ days: z.union([lookbackDays, z.literal('all')]), on: z.enum(tierDays).optional() })),
    ],
    {
      error: `must be a number of days, or a list of tiers such as {days: 90, on: sunday}: days is a whole number or all, on one of ${tierDays.join(', ')}`,
    },
  )
  .default([{ days: 7 }]);
const numberLimit = z.strictObject({
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  above: z.number().exactOptional(),
});

const percent = z.number().min(0).max(100);
const selectionName = text.regex(/^[\w-]+$/, 'may hold letters, digits, - and _');

/** Its caps have no default: whoever saves a selection that nobody will confirm says how far it may go. */
const savedSelection = z
  .strictObject({
    file: text.optional(),
    query: text.optional(),
    maxTargets: z.number().int().positive(),
    maxShareOfWellsPercent: percent,
  })
  .refine((selection) => (selection.file === undefined) !== (selection.query === undefined), {
    error: 'must name either a file or a query',
  });

/** DESIGN.md section 8. Unknown keys are faults: a misspelt setting must not be silently without effect. */
export const configSchema = z
  .strictObject({
    service: z
      .strictObject({
        url: httpUrl('https://pds.example.com').optional(),
        token: text.optional(),
        tokenFile: text.optional(),
        oauth: clientCredentials.optional(),
        tls: tls.optional(),
        timeoutMs: ms(30_000),
        concurrency: count(8),
        requestsPerSecond: z.number().positive().optional(),
        pageLimit: z.number().int().min(5).default(1_000),
        pageLimitGranted: z.boolean().default(false),
        maxBodyBytes: count(64 * 1024 * 1024),
        retry: z
          .strictObject({
            attempts: count(4),
            baseDelayMs: ms(500),
            maxDelayMs: ms(15_000),
            deadlineMs: ms(120_000),
          })
          .prefault({}),
      })
      .refine((service) => tokenWays.filter((way) => service[way] !== undefined).length <= 1, {
        error: `${tokenWays.join(', ')} exclude each other: a token is had by one of them`,
      })
      .prefault({}),
    redis: z
      .strictObject({
        url: z
          .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// address' })
          .default('redis://127.0.0.1:6379'),
      })
      .prefault({}),
    queue: z
      .strictObject({
        prefix: text.regex(/^[\w-]+$/, 'may hold letters, digits, - and _').default('wellsync'),
        attempts: count(6),
        baseDelayMs: ms(15_000),
        maxDelayMs: ms(600_000),
        maxHoldMs: ms(3_600_000),
      })
      .prefault({}),
    worker: z.strictObject({ chunkConcurrency: count(2), graceMs: ms(20_000) }).prefault({}),
    dataDir: text.default('wellsync-data'),
    warehouse: z
      .strictObject({
        url: text.optional(),
        memoryLimitMb: count(64),
        threads: count(1),
        lockWaitMs: ms(60_000),
      })
      .prefault({}),
    timeZone: timeZone.default('UTC'),
    export: z
      .strictObject({
        wells: z.array(text).default([]),
        wellsFile: text.optional(),
        sourceWells: z.array(text).default([]),
        sourceWellsFile: text.optional(),
        equipment: z.array(text).default([]),
        equipmentFile: text.optional(),
        historyFrom: day.default('1900-01-01'),
        lookback,
        shrink: z
          .strictObject({
            maxSharePercent: percent.default(20),
            maxRows: z.number().int().nonnegative().default(3),
          })
          .prefault({}),
        chunkWells: count(100),
        chunkRows: count(100_000),
        batchRows: count(5_000),
        rowsInMemory: count(16_000),
      })
      .prefault({}),
    wells: z.strictObject({ timeZoneField: fieldPath.optional(), uwiField: fieldPath.optional() }).prefault({}),
    push: z
      .strictObject({
        chunkItems: count(500),
        chunkBytes: z.number().int().min(1_024).default(1_000_000),
        concurrency: count(8),
        checkpointMs: ms(2_000),
        delimiter: z.string().length(1, 'must be one character, such as ";"').default(','),
        aliases: z.record(text, z.enum(pipeFields)).default({}),
        limits: z.partialRecord(z.enum(listFields), numberLimit).default(defaultPipeLimits),
      })
      .prefault({}),
    cleanup: z
      .strictObject({
        maxTargets: count(1_000),
        maxShareOfWellsPercent: percent.default(10),
        planMaxAgeHours: z.number().positive().default(24),
        chunkTargets: count(50),
        selections: z.record(selectionName, savedSelection).default({}),
      })
      .prefault({}),
    logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error']).default('info'),
  })
  .transform((config) => ({
    ...config,
    warehouse: { ...config.warehouse, url: config.warehouse.url ?? `duckdb:${config.dataDir}/warehouse.duckdb` },
  }));

export type Config = Readonly<z.output<typeof configSchema>>;

/** Each environment variable with the setting that it stands for (DESIGN.md section 8). */
export const environmentSettings = {
  WELLSYNC_SERVICE_URL: ['service', 'url'],
  WELLSYNC_SERVICE_TOKEN: ['service', 'token'],
  WELLSYNC_SERVICE_TOKEN_FILE: ['service', 'tokenFile'],
  WELLSYNC_REDIS_URL: ['redis', 'url'],
  WELLSYNC_WAREHOUSE: ['warehouse', 'url'],
  WELLSYNC_DATA_DIR: ['dataDir'],
  WELLSYNC_QUEUE_PREFIX: ['queue', 'prefix'],
} as const satisfies Record<string, readonly string[]>;

/** Names the file itself, so it is not one of the settings. */
export const configFileVariable = 'WELLSYNC_CONFIG';

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
