/** An installation of wellsync in a folder of its own, as an operator sets one up: its files, settings and secrets. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../../scripts/setup/private-redis.mjs';
import { s3Secret } from '../support/s3-server.ts';
import type { Evidence } from './evidence.ts';
import type { Servers } from './servers.ts';
import { equipmentIds, uwis } from './service/assets.ts';

/** The built program. */
export const program = path.resolve('dist/src/cli/main.js');

export const settings: Evidence['settings'] = {
  concurrency: 6,
  requestsPerSecond: 60,
  memoryMb: 512,
  shrinkPercent: 20,
  shrinkRows: 3,
  historyFrom: new Date(Date.now() - 200 * 86_400_000).toISOString().slice(0, 10),
};

export interface Installation {
  readonly folder: string;
  readonly dataDir: string;
  readonly inbox: string;
  readonly feed: string;
  readonly logs: string;
  /** Where the clients lay what they push. */
  readonly drop: string;
  readonly warehouseUrl: string;
  readonly warehouseFile: string;
  readonly apiUrl: string;
  /** May do all, at the API. */
  readonly apiToken: string;
  readonly tokenFile: string;
  /** The file that arms the trap (trap.mjs). */
  readonly trap: string;
  /** Never to be seen anywhere but in these files; those of the service are added as they are issued. */
  readonly secrets: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The environment of another host: a data folder of its own, and a clock. */
  hostEnv(host: string, clockOffsetMs: number): Readonly<Record<string, string>>;
  /** Another queue, which takes the warehouse over. */
  takeOver(): Promise<void>;
}

/** Hands out another token: whoever reads the file finds one of them, whole. */
export async function newToken({ tokenFile }: Pick<Installation, 'tokenFile'>, token: string): Promise<void> {
  await writeFile(`${tokenFile}.next`, token, { mode: 0o600 });
  await rename(`${tokenFile}.next`, tokenFile);
}

/** `dataFolder`: where the warehouse file and the data folder lie; a small disk that can be full. */
export async function install(
  servers: Servers,
  folder: string,
  { dataFolder, alertsUrl }: { readonly dataFolder: string; readonly alertsUrl: string },
): Promise<Installation> {
  const within = (...names: readonly string[]): string => path.join(folder, ...names);
  const [dataDir, inbox, feed, logs, drop] = [
    path.join(dataFolder, 'data'),
    within('inbox'),
    within('feed'),
    within('logs'),
    within('drop'),
  ] as const;
  for (const each of [dataDir, inbox, feed, logs, drop]) await mkdir(each, { recursive: true });
  const warehouseFile = path.join(dataFolder, 'warehouse.duckdb');
  const warehouseUrl = servers.postgres?.url ?? `duckdb:${warehouseFile}`;
  const [apiToken, alertSecret] = [
    `wst_${randomBytes(24).toString('hex')}`,
    `alerts-${randomBytes(16).toString('hex')}`,
  ];
  const tokenFile = within('token');
  await writeFile(tokenFile, servers.service.newToken(), { mode: 0o600 });
  await writeFile(within('alert-secret'), alertSecret, { mode: 0o600 });
  await writeFile(within('wells.csv'), `uwi\n${uwis.map(quoted).join('\n')}\n`);
  await writeFile(within('source-wells.csv'), `well\n${uwis.map(quoted).join('\n')}\n`);
  await writeFile(within('equipment.csv'), `equipment\n${equipmentIds.map(quoted).join('\n')}\n`);
  const port = await freePort();
  const config = (prefix: string): string =>
    JSON.stringify({
      service: {
        url: servers.serviceUrl,
        tokenFile,
        timeoutMs: 5_000,
        concurrency: settings.concurrency,
        requestsPerSecond: settings.requestsPerSecond,
        pageLimit: 100,
        retry: { attempts: 4, baseDelayMs: 100, maxDelayMs: 1_000, deadlineMs: 20_000 },
      },
      ...(servers.redis === null ? {} : { redis: servers.redis.settings }),
      queue: {
        ...(servers.redis === null ? {} : { prefix }),
        attempts: 10,
        baseDelayMs: 500,
        maxDelayMs: 4_000,
        maxHoldMs: 120_000,
      },
      worker: { graceMs: 3_000, memoryMb: settings.memoryMb },
      dataDir,
      warehouse: { url: warehouseUrl, lockWaitMs: 30_000 },
      // Several hosts share files by the store; with a file as the warehouse there is one host.
      ...(servers.postgres === null
        ? {}
        : { files: { url: `s3://${servers.store.bucket}/files`, endpoint: servers.storeUrl, pathStyle: true } }),
      feed: { url: feed },
      inbox: { folder: inbox, settleMs: 500 },
      export: {
        wellsFile: within('wells.csv'),
        sourceWellsFile: within('source-wells.csv'),
        equipmentFile: within('equipment.csv'),
        historyFrom: settings.historyFrom,
        lookback: 14,
        shrink: { maxSharePercent: settings.shrinkPercent, maxRows: settings.shrinkRows },
        chunkWells: 4,
        batchRows: 500,
      },
      push: { chunkItems: 20 },
      http: {
        host: '127.0.0.1',
        port,
        requestsPerMinute: 100_000,
        tokens: [{ name: 'storm', role: 'delete', sha256: createHash('sha256').update(apiToken).digest('hex') }],
      },
      alerts: { url: alertsUrl, secretFile: within('alert-secret'), timeoutMs: 3_000 },
      schedules: {
        revision: 1,
        entries: {
          minutely: { cron: '* * * * *', timeZone: 'UTC', job: 'export daily-production' },
          definitions: { cron: '*/2 * * * *', timeZone: 'UTC', job: 'export time-series' },
        },
      },
    });
  const configFile = within('wellsync.yaml');
  let queues = 1;
  await writeFile(configFile, config(`storm-${queues}`), { mode: 0o600 });
  const trap = within('trap');
  const temporary = path.join(dataFolder, 'tmp');
  await mkdir(temporary);
  const env = {
    PATH: process.env['PATH'] ?? '',
    TMPDIR: temporary,
    WELLSYNC_CONFIG: configFile,
    NODE_OPTIONS: `--import=${path.resolve('test/storm/trap.mjs')}`,
    STORM_TRAP: trap,
    ...servers.store.env,
  };
  return {
    folder,
    dataDir,
    inbox,
    feed,
    logs,
    drop,
    warehouseUrl,
    warehouseFile,
    apiUrl: `http://127.0.0.1:${port}`,
    apiToken,
    tokenFile,
    trap,
    secrets: [apiToken, alertSecret, s3Secret],
    env,
    hostEnv: (host, clockOffsetMs) => ({
      ...env,
      ...(servers.postgres === null ? {} : { WELLSYNC_DATA_DIR: path.join(dataFolder, `data-${host}`) }),
      ...(clockOffsetMs === 0 ? {} : { STORM_CLOCK_OFFSET_MS: String(clockOffsetMs) }),
    }),
    takeOver: () => writeFile(configFile, config(`storm-${(queues += 1)}`), { mode: 0o600 }),
  };
}

/** A cell of a CSV file. */
export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
