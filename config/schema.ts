/** Owns what an operator may set: the one schema behind the file, the environment and the flags. */
import { z } from 'zod';
import { defaultPipeLimits, listFields, pipeFields } from '../src/core/pipe-fields.ts';

const ms = (fallback: number) => z.number().int().positive().default(fallback);
const count = (fallback: number) => z.number().int().positive().default(fallback);
const text = z.string().trim().min(1);

const serviceUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address, such as https://pds.example.com' })
  .refine(
    (url) => !/^https?:\/\/[^/]*@/.test(url),
    'must hold no user name or password: use service.token or service.tokenFile',
  );

const day = z.iso.date({ error: 'must be a day, such as 1990-01-01' });

const timeZone = text.refine(isTimeZone, 'must be the name of a time zone, such as UTC or Europe/Oslo');

const numberLimit = z.strictObject({
  min: z.number().exactOptional(),
  max: z.number().exactOptional(),
  above: z.number().exactOptional(),
});

/** DESIGN.md section 8. Unknown keys are faults: a misspelt setting must not be silently without effect. */
export const configSchema = z
  .strictObject({
    service: z
      .strictObject({
        url: serviceUrl.optional(),
        token: text.optional(),
        tokenFile: text.optional(),
        timeoutMs: ms(30_000),
        concurrency: count(8),
        requestsPerSecond: z.number().positive().optional(),
        pageLimit: z.number().int().min(2).default(1_000),
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
      .refine((service) => service.token === undefined || service.tokenFile === undefined, {
        error: 'token and tokenFile exclude each other',
        path: ['tokenFile'],
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
        memoryLimitMb: count(80),
        threads: count(1),
        lockWaitMs: ms(60_000),
      })
      .prefault({}),
    timeZone: timeZone.default('UTC'),
    export: z
      .strictObject({
        wells: z.array(text).default([]),
        wellsFile: text.optional(),
        historyFrom: day.default('1900-01-01'),
        lookbackDays: z.number().int().nonnegative().default(7),
        shrink: z
          .strictObject({
            maxSharePercent: z.number().min(0).max(100).default(20),
            maxRows: z.number().int().nonnegative().default(3),
          })
          .prefault({}),
        chunkWells: count(100),
        chunkRows: count(100_000),
        batchRows: count(5_000),
        rowsInMemory: count(16_000),
      })
      .prefault({}),
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
