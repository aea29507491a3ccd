/** The schema of the settings, for the file, the environment and the flags alike. */
import { z } from 'zod';
import { batchRowsOf, defaultMemoryMb, leastMemoryMb, memoryBudget } from '../src/core/base/memory-budget.ts';
import { serviceIdPattern } from '../src/core/base/service-key.ts';
import { type LookbackTier, tierDays } from '../src/core/daily/due-window.ts';
import { defaultRateBasis, rateBases } from '../src/core/daily/units.ts';
import { nullableFields } from '../src/core/daily/row.ts';
import { type KnownList, recordLists } from '../src/core/definitions/record-list.ts';
import { inboxKinds } from '../src/core/pipes/inbox.ts';
import { defaultPipeLimits, listFields, pipeFields, pipeIdentities } from '../src/core/pipes/pipe.ts';
import { isTimeZone } from '../src/core/time/production-day.ts';
import { logLevels, memoryVariable, redisVariable } from './config-file.ts';
import { httpSettings } from './http-settings.ts';
import { isNamed, type RedisAccess, redisSchema, text, tlsFiles } from './redis-settings.ts';
import { checkSettings, section, unitSettings } from './production-data.ts';
import { lackingSelections, schedulesSchema } from './schedules.ts';
import type { SecretFile } from './yaml-tree.ts';

/** The configured targets of each list of records, and the CSV file of them. */
function listSettings() {
  type Setting = KnownList['targets']['setting'];
  const names = recordLists.map(({ targets: { setting } }) => [setting, z.array(text).default([])] as const);
  const files = recordLists.map(({ targets: { setting } }) => [`${setting}File`, text.optional()] as const);
  return Object.fromEntries([...names, ...files]) as Record<Setting, (typeof names)[number][1]> &
    Record<`${Setting}File`, (typeof files)[number][1]>;
}

/** May hold a capability in its path or query: it is kept out of logs (G10). */
const webhookUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });

const alertSettings = section({
  url: webhookUrl.optional(),
  form: z.enum(['json', 'slack']).default('json'),
  secretFile: text.optional(),
  timeoutMs: z.number().int().positive().max(60_000).default(10_000),
  maxStaleWells: z.never({ error: 'is gone: each silent well is an alert (freshness.warnAfterDays)' }).optional(),
  remindAfterDays: z.number().int().positive().max(3_650).default(7),
  maxHoldMs: z.number().int().positive().max(86_400_000).default(900_000),
  heartbeatUrl: webhookUrl.optional(),
  heartbeatJobs: z.array(text).default(['export daily-production']),
});

/** Far above every useful time, and far below the longest timer of Node (24.8 days). */
const longestMs = 7 * 86_400_000;
const ms = (fallback: number) =>
  z.number().int().positive().max(longestMs, `must be at most ${longestMs} ms (7 days)`).default(fallback);
const count = (fallback: number) => z.number().int().positive().default(fallback);

const httpUrl = (example: string) =>
  z
    .url({ protocol: /^https?$/, error: `must be an http or https address, such as ${example}` })
    .refine(
      (url) => !/^https?:\/\/[^/]*@/.test(url),
      'must hold no user name or password: secrets have settings of their own',
    )
    .refine((url) => !/[?#]/.test(url), 'must hold no query and no fragment: leave away everything from the ? or # on');

/** The address becomes the name of the service: a parameter of a path (RFC 3986 section 3.3) may be a token (G10). */
const serviceUrl = httpUrl('https://pds.example.com').refine(
  (url) => !/;|%3b/i.test(url),
  'must hold no ; in its path: leave away everything from the ; on, secrets have settings of their own',
);

const serviceId = text.regex(serviceIdPattern, 'may hold letters, digits, ., - and _');

/** The ways to provide a token. A service without authentication needs none. */
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

/** A folder, or a part of a bucket; a user, a password or a query has no place in it (G10). */
const storeUrl = text.regex(
  /^(?:(?:file:\/\/)?\/[^\0?#]*|s3:\/\/[a-z0-9][\w.-]{1,61}[a-z0-9](?:\/[\w.=+-]+)*\/?)$/i,
  'must be an absolute path, file:///PATH or s3://BUCKET/PREFIX',
);

const store = {
  url: storeUrl.optional(),
  endpoint: httpUrl('https://minio.example.com:9000').optional(),
  region: text.regex(/^[\w-]+$/, 'must be the name of a region, such as eu-north-1').optional(),
  pathStyle: z.boolean().optional(),
};

function isStore({ url, endpoint, region, pathStyle }: Partial<Record<keyof typeof store, unknown>>): boolean {
  return String(url).startsWith('s3://') || [endpoint, region, pathStyle].every((each) => each === undefined);
}

const notOfS3 = {
  error: 'endpoint, region and pathStyle are for an address that begins with s3://',
  path: ['url'],
};

const day = z.iso.date({ error: 'must be a day, such as 1990-01-01' });

const timeZone = text.refine(isTimeZone, 'must be the name of a time zone, such as UTC or Europe/Oslo');

/** Names joined by dots, a path into the body of a well. */
const fieldPath = text.regex(/^[^."]+(\.[^."]+)*$/, 'must be names joined by dots, such as location.timeZone');

const lookbackDays = z.number().int().nonnegative();

/** A number of days for every run, or tiers, each with the day on which it is due. */
const lookbackTiers = z.union(
  [
    lookbackDays.transform((days): readonly LookbackTier[] => [{ days }]),
    z.array(z.strictObject({ days: z.union([lookbackDays, z.literal('all')]), on: z.enum(tierDays).optional() })),
  ],
  {
    error: `must be a number of days, or a list of tiers such as {days: 90, on: sunday}: days is a whole number or all, on one of ${tierDays.join(', ')}`,
  },
);
const nullableField = z.enum(nullableFields, {
  error: `must be one of ${nullableFields.join(', ')}: a record with null in another required field, such as a rate, breaks the contract`,
});

const limit = z.number().exactOptional();
const numberLimit = z.strictObject({ min: limit, max: limit, above: limit });

const percent = z.number().min(0).max(100);
/** Fewer would take away what the night before left to do. */
const keptDays = z.number().int().min(7).max(36_500);
const selectionName = text.regex(/^[\w-]+$/, 'may hold letters, digits, - and _');

const selectionFile = text.refine((file) => file !== '-', {
  error: 'must be the path of a file: a saved selection is not read from standard input',
});

/** Its caps have no default: a saved selection is applied without confirmation, so its author sets the limits. */
const savedSelection = z
  .strictObject({
    file: selectionFile.optional(),
    query: text.optional(),
    maxTargets: z.number().int().positive(),
    maxShareOfWellsPercent: percent,
    includeProducing: z.boolean().default(false),
  })
  .refine((selection) => (selection.file === undefined) !== (selection.query === undefined), {
    error: 'must name either a file or a query',
  });

/** docs/design.md section 8. Unknown keys are faults: a misspelt setting must not silently have no effect. */
export const configSchema = z
  .strictObject({
    service: z
      .strictObject({
        url: serviceUrl.optional(),
        id: serviceId.optional(),
        token: text.optional(),
        tokenFile: text.optional(),
        oauth: clientCredentials.optional(),
        tls: tlsFiles.optional(),
        timeoutMs: ms(30_000),
        concurrency: count(8),
        requestsPerSecond: z
          .number()
          .min(0.01, 'must be at least 0.01: one request in 100 seconds')
          .max(10_000, 'must be at most 10000: leave it out for no limit')
          .optional(),
        pageLimit: z.number().int().min(5).default(1_000),
        pageLimitGranted: z.boolean().default(false),
        maxBodyBytes: z.number().int().positive().optional(),
        retry: section({ attempts: count(4), baseDelayMs: ms(500), maxDelayMs: ms(15_000), deadlineMs: ms(120_000) }),
      })
      .refine((service) => tokenWays.filter((way) => service[way] !== undefined).length <= 1, {
        error: `${tokenWays.join(', ')} exclude each other: a token is had by one of them`,
      })
      .prefault({}),
    redis: redisSchema.prefault({}),
    queue: section({
      prefix: text.regex(/^[\w-]+$/, 'may hold letters, digits, - and _').optional(),
      attempts: count(6),
      baseDelayMs: ms(15_000),
      maxDelayMs: ms(600_000),
      maxHoldMs: ms(3_600_000),
    }),
    worker: section({
      chunkConcurrency: count(2),
      graceMs: ms(20_000),
      memoryMb: z.number().int().min(leastMemoryMb).default(defaultMemoryMb),
    }),
    dataDir: text.default('wellsync-data'),
    warehouse: section({
      url: text.optional(),
      password: text.optional(),
      passwordFile: text.optional(),
      memoryLimitMb: z.number().int().positive().optional(),
      threads: count(1),
      lockWaitMs: ms(60_000),
    }),
    files: z.strictObject(store).refine(isStore, notOfS3).prefault({}),
    feed: z
      .strictObject({
        ...store,
        format: z.enum(['parquet', 'csv']).default('parquet'),
        afterRuns: z.boolean().default(true),
        maxMonths: count(24),
        keepHours: z.number().min(1, 'must be at least 1: readers need time for what they have begun').default(48),
      })
      .refine(isStore, notOfS3)
      .prefault({}),
    inbox: section({
      folder: text.optional(),
      kinds: z
        .array(z.enum(inboxKinds))
        .min(1)
        .default([...inboxKinds]),
      settleMs: ms(5_000),
    }),
    timeZone: timeZone.default('UTC'),
    units: unitSettings,
    export: section({
      wells: z.array(text).default([]),
      wellsFile: text.optional(),
      sourceWells: z.array(text).default([]),
      sourceWellsFile: text.optional(),
      ...listSettings(),
      historyFrom: day.default('1900-01-01'),
      lookback: lookbackTiers.default([{ days: 7 }]),
      lookbackByWell: z.record(text, lookbackTiers).default({}),
      nullable: z.array(nullableField).default([]),
      holeDays: z.number().int().nonnegative().max(3_650).default(92),
      rateBasis: z.enum(rateBases).default(defaultRateBasis),
      shrink: section({
        maxSharePercent: percent.default(20),
        maxRows: z.number().int().nonnegative().default(3),
        maxRowsPerRun: z.number().int().nonnegative().default(100),
      }),
      restated: section({ maxRows: z.number().int().nonnegative().default(100) }),
      chunkWells: count(200),
      chunkRows: z.number().int().positive().optional(),
      batchRows: z.number().int().positive().optional(),
      rowsInMemory: z.number().int().positive().optional(),
    }),
    freshness: section({ warnAfterDays: count(14) }),
    checks: checkSettings,
    wells: section({
      typeField: fieldPath.optional(),
      statusField: fieldPath.optional(),
      liftField: fieldPath.optional(),
      timeZoneField: fieldPath.optional(),
      uwiField: fieldPath.optional(),
      plugged: z.array(text).default([]),
      pluggedField: fieldPath.optional(),
      pluggedValues: z.array(text).min(1).default(['plugged', 'true']),
    }),
    push: section({
      chunkItems: count(500),
      pipeIdentity: z.enum(pipeIdentities).default('unknown'),
      chunkBytes: z.number().int().min(1_024).default(1_000_000),
      concurrency: count(8),
      checkpointMs: ms(2_000),
      rememberDays: keptDays.default(3_650),
      delimiter: z
        .string()
        .regex(/^[^"\r\n]$/, 'must be one character, such as ";", and no quote')
        .default(','),
      aliases: z.record(text, z.enum(pipeFields)).default({}),
      limits: z.partialRecord(z.enum(listFields), numberLimit).default(defaultPipeLimits),
    }),
    run: section({ stuckAfterMs: ms(1_800_000) }),
    cleanup: section({
      maxTargets: count(1_000),
      maxShareOfWellsPercent: percent.default(10),
      planMaxAgeHours: z.number().positive().default(24),
      refuseIfProducedWithinDays: z.number().int().positive().max(36_500).default(30),
      chunkTargets: count(500),
      selections: z.record(selectionName, savedSelection).default({}),
    }),
    retention: section({
      unitDays: keptDays.default(30),
      runDays: keptDays.default(400),
      rejectsDays: keptDays.default(90),
      inboxDays: keptDays.default(90),
      historyDays: keptDays.optional(),
      alertDays: keptDays.default(400),
    }),
    http: httpSettings,
    alerts: alertSettings,
    schedules: schedulesSchema,
    logLevel: z.enum(logLevels).default('info'),
  })
  .superRefine(({ schedules, cleanup }, context) => {
    for (const [name, selection] of lackingSelections(schedules, cleanup.selections)) {
      const path = ['schedules', 'entries', name, 'parameters', 'selection'];
      context.addIssue({ code: 'custom', path, message: `names no selection of cleanup.selections: ${selection}` });
    }
  })
  .refine(({ queue, redis }) => queue.prefix === undefined || isNamed(redis), {
    error: 'is for keys in Redis, and no Redis is named (redis.url, WELLSYNC_REDIS_URL)',
    path: ['queue', 'prefix'],
  })
  .transform((config) => {
    const { engineMb, bodyBytes, ...budget } = memoryBudget(config.worker.memoryMb);
    const rowsInMemory = config.export.rowsInMemory ?? budget.rowsInMemory;
    return {
      ...config,
      service: { ...config.service, maxBodyBytes: config.service.maxBodyBytes ?? bodyBytes },
      warehouse: { ...config.warehouse, memoryLimitMb: config.warehouse.memoryLimitMb ?? engineMb },
      export: { ...config.export, rowsInMemory, batchRows: config.export.batchRows ?? batchRowsOf(rowsInMemory) },
    };
  });

type Settings = Readonly<z.output<typeof configSchema>>;

export interface Config extends Omit<Settings, 'warehouse' | 'redis'> {
  /** With the content of the files that it names; undefined for a queue that is embedded in the working process. */
  readonly redis: RedisAccess | undefined;
  /** `url`: `duckdb:` with an absolute path, or the address of a PostgreSQL database. `dataDir` is absolute too (load.ts). */
  readonly warehouse: Omit<Settings['warehouse'], 'url'> & { readonly url: string };
  /** Whether the path of the warehouse is the same in every working folder. */
  readonly isWarehousePlaced: boolean;
  /** Absolute path of the folder of the configuration file; the working folder without a file. */
  readonly folder: string;
  /** Files whose readers know a secret of wellsync. */
  readonly secretFiles: readonly SecretFile[];
}

/** Each environment variable with its setting (docs/design.md section 8). */
export const environmentSettings = {
  WELLSYNC_SERVICE_URL: ['service', 'url'],
  WELLSYNC_SERVICE_ID: ['service', 'id'],
  WELLSYNC_SERVICE_TOKEN: ['service', 'token'],
  WELLSYNC_SERVICE_TOKEN_FILE: ['service', 'tokenFile'],
  [redisVariable]: ['redis', 'url'],
  WELLSYNC_REDIS_PASSWORD_FILE: ['redis', 'passwordFile'],
  WELLSYNC_WAREHOUSE: ['warehouse', 'url'],
  WELLSYNC_WAREHOUSE_PASSWORD_FILE: ['warehouse', 'passwordFile'],
  PGPASSWORD: ['warehouse', 'password'],
  WELLSYNC_DATA_DIR: ['dataDir'],
  WELLSYNC_FILES_URL: ['files', 'url'],
  WELLSYNC_FEED_URL: ['feed', 'url'],
  WELLSYNC_QUEUE_PREFIX: ['queue', 'prefix'],
  [memoryVariable]: ['worker', 'memoryMb'],
} as const satisfies Record<string, readonly string[]>;
