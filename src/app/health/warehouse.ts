import path from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { isBusy } from '../../core/base/errors.ts';
import { checkZone, midnightNotice } from '../../core/daily/zones.ts';
import { bytesText, counted, instantText, listed, roughDurationText } from '../../core/base/text.ts';
import { beatTimes } from '../../core/run/warehouse-queue.ts';
import { shownAddress } from '../../queue/redis/settings.ts';
import { databaseFileOf } from '../../warehouse/create-warehouse.ts';
import type { DroppedDates } from '../../warehouse/port/pushes.ts';
import type { App } from '../app.ts';
import { accidentalLocation } from '../preflight.ts';
import { redisLocationOf } from '../service/service-settings.ts';
import { writeFault } from './disk.ts';
import { failed, failedFinding, type Finding, ok, type Patience, warning } from './finding.ts';

export async function checkWorkers(app: App, patience: Patience): Promise<Finding> {
  try {
    await app.checkQueue();
    const counts = await (await app.queue('prompt')).workers();
    const message = listed(counts.map((entry) => `${entry.workers} at ${entry.queue}`));
    if (counts.every((entry) => entry.workers > 0)) return ok('workers', message);
    const isEmbedded = app.queueWay.kind === 'embedded';
    if (isEmbedded && counts.every((entry) => entry.workers === 0)) {
      return ok('workers', 'none: each command works its own run');
    }
    return warning('workers', message, { action: { kind: 'start-worker' } });
  } catch (error) {
    return ok('workers', `at work: the last beat is ${ageText(await beatAgeOfHolder(error, app, patience))} old`);
  }
}

/** A warehouse that a worker of this installation holds is well: it is not waited for, and not opened. */
export async function checkWarehouse(app: App, patience: Patience): Promise<Finding> {
  const { warehouse, config } = app;
  const file = databaseFileOf(config.warehouse.url);
  const fault = file === undefined ? undefined : await writeFault(path.dirname(file));
  if (fault !== undefined) {
    return failed('warehouse', `${warehouse.location}: ${fault}`, {
      hint: 'Set WELLSYNC_WAREHOUSE (or warehouse.url) to a file in a folder with room that can be written to.',
    });
  }
  // The check itself would create the warehouse.
  if (!(await warehouse.isStored())) {
    await warehouse.tryMaking();
    const accident = await accidentalLocation(app);
    if (accident !== undefined) {
      const message = `${accident.message}. A command at a terminal makes it; one without, as under cron, is refused`;
      return warning('warehouse', message, accident);
    }
    return ok('warehouse', `${warehouse.location}, not there yet: the first run makes it`);
  }
  try {
    return await usedWarehouse(app);
  } catch (error) {
    const age = ageText(await beatAgeOfHolder(error, app, patience));
    return ok('warehouse', `${warehouse.location}, held by a worker whose last beat is ${age} old: not opened`);
  }
}

async function usedWarehouse(app: App): Promise<Finding> {
  const { warehouse, ledger, config } = app;
  const { engine, schemaVersion, dailyProductionRows } = await warehouse.check();
  await warehouse.tryWriting();
  const rows = counted(dailyProductionRows, 'row');
  if (config.service.url !== undefined) await app.checkService();
  const { service } = await ledger.ownership.read();
  const owner = service === undefined ? 'no service yet' : `service ${service}`;
  const basis = await warehouse.months.rateBasis();
  const { rateBasis } = config.export;
  const rates = basis === rateBasis ? `${basis} rates` : `${basis} rates, ${rateBasis} from the next export on`;
  const parts = [
    engine,
    `schema ${schemaVersion}`,
    `${rows} of daily production`,
    rates,
    owner,
    'written to and rolled back',
  ];
  return ok('warehouse', [warehouse.location, ...parts].join(', '));
}

/** Rows by which the dates of a well are judged. */
const judgedRows = 400;

/** What the time zone does to the rows: none where nothing is stored, or nothing is to be said. */
export async function zoneFindings({ warehouse, config: { timeZone } }: App): Promise<readonly Finding[]> {
  if (!(await warehouse.isStored())) return [];
  const kept = await warehouse.zones.read();
  try {
    checkZone(kept, timeZone);
  } catch (error) {
    return [failedFinding('time zone', error, {})];
  }
  const [uwi] = await warehouse.dailyProduction.uwis();
  if (uwi === undefined) return [];
  const zone = (await warehouse.zones.ofWells([uwi])).get(uwi) ?? timeZone;
  const rows = (await warehouse.dailyProduction.rows({ uwi, limit: judgedRows })) ?? [];
  const dates = Float64Array.from(rows.map(({ date }) => Date.parse(date)));
  const words = midnightNotice(dates, zone);
  return words === undefined ? [] : [ok('time zone', `${uwi}: ${words}`)];
}

function ageText(ageMs: number): string {
  return roughDurationText(ageMs);
}

/** A run takes up to 64 MB of Redis (G8); above this share of maxmemory there may be no room for the next ones. */
const fullShare = 0.8;

const otherwise = {
  hint: 'See whether Redis is up, and WELLSYNC_REDIS_URL and WELLSYNC_QUEUE_PREFIX are those of the workers.',
};

/** The finding of Redis itself, then one for each remark on it; that of an embedded queue needs nothing. */
export async function queueFindings(config: Config): Promise<readonly [Finding, ...Finding[]]> {
  const { redis } = config;
  if (redis === undefined) return [ok('queue', 'embedded: in the memory of the process that works the warehouse')];
  try {
    const { checkRedis } = await import('../../queue/redis/check.ts');
    const info = await checkRedis(redisLocationOf(config));
    const { product, evictionPolicy, nodes, usedMemoryBytes, maxMemoryBytes } = info;
    const limit = maxMemoryBytes === 0 ? 'no limit' : `a limit of ${bytesText(maxMemoryBytes)}`;
    const memory = `${bytesText(usedMemoryBytes)} used, ${limit}`;
    const all = nodes === 1 ? '' : `, ${nodes} nodes`;
    const message = `${shownAddress(redis)}${all}, ${product}, ${evictionPolicy}, ${memory}, written to`;
    const remarks = info.remarks.map(({ message: remark, hint }) => warning('redis', remark, { hint }));
    const isFull = maxMemoryBytes > 0 && usedMemoryBytes > fullShare * maxMemoryBytes;
    const full = { hint: 'It is nearly full, and refuses writes when it is: raise its maxmemory.' };
    return [isFull ? warning('redis', message, full) : ok('redis', message), ...remarks];
  } catch (error) {
    return [failedFinding('redis', error, otherwise)];
  }
}

/** The beat of the queue that works the warehouse: a small file beside it, which workers write every few seconds. */
export interface Liveness {
  readonly isLive: boolean;
  /** Milliseconds since the last beat; undefined without one. */
  readonly beatAgeMs: number | undefined;
}

/** Reads the beat alone: opens no warehouse, and asks neither Redis nor the service. */
export async function livenessOf({ ledger }: App): Promise<Liveness> {
  const beatAgeMs = await ledger.ownership.beatAgeMs();
  return { isLive: beatAgeMs !== undefined && beatAgeMs < beatTimes.staleAfterMs, beatAgeMs };
}

/**
 * Milliseconds since the last beat, for the error of a warehouse that is held by a worker of this installation: its queue
 * beats, and Redis has that queue under this prefix. Rethrows every other error.
 */
export async function beatAgeOfHolder(error: unknown, app: App, patience: Patience): Promise<number> {
  patience.observe(error);
  if (!isBusy(error) || app.config.service.url === undefined) throw error;
  const { isLive, beatAgeMs } = await livenessOf(app);
  const { warehouseId } = await app.queueWay.identity();
  if (!isLive || beatAgeMs === undefined || warehouseId === undefined) throw error;
  return beatAgeMs;
}

/** Files that earlier versions pushed without all dates of their pipes. */
const part = 'pushed dates';
/** Files that are named; a warehouse may know thousands. */
const mostNamed = 20;

/** One finding a file, the oldest first; none where every date was sent. */
export async function droppedDatesFindings({ warehouse, ledger }: App): Promise<readonly Finding[]> {
  if (!(await warehouse.isStored())) return [];
  const found = await ledger.pushes.droppedDates();
  const named = found.slice(0, mostNamed).map(findingOf);
  if (found.length === named.length) return named;
  const more = counted(found.length - named.length, 'more file was', 'more files were');
  return [...named, warning(part, `${more} pushed so: push these again, and see here which are left`, {})];
}

function findingOf({ runId, name, file, fileSha256, form, rows, completedAtMs }: DroppedDates): Finding {
  const content = name ?? `the content with SHA-256 ${fileSha256}`;
  const left = counted(rows, 'row', 'rows');
  const message = `${content}, pushed by run ${runId}, ${instantText(completedAtMs)}: ${left} went unsent for a later row of the same pipe, whatever the dates`;
  const [fileForm = 'auto'] = (form ?? 'auto').split(' ') as ('auto' | 'wide' | 'long')[];
  return warning(part, message, { action: { kind: 'push-again', file: file ?? 'FILE', form: fileForm } });
}
