/** Checks before work starts: every part that it needs is configured, reachable and usable. They write nothing. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../config/schema.ts';
import { UnreachableError, UsageError } from '../core/base/errors.ts';
import { fileReason } from '../core/base/file-fault.ts';
import { otherWarehouse } from '../runs/queue-claim.ts';
import type { App } from './app.ts';
import { requireOwnInbox } from './inbox/inbox-owner.ts';
import { redisLocationOf, serviceUrlOf, tlsOf } from './service/service-settings.ts';

/**
 * Throws UsageError or UnreachableError for the first part with a fault; nothing has been started then. Without somebody at a
 * terminal a part that is out of reach is an alert.
 */
export async function checkBeforeWork(app: App): Promise<void> {
  await alerted(app, () => checkParts(app));
}

async function alerted(app: App, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    await alertOfRefusal(app, error);
    throw error;
  }
}

async function checkParts(app: App): Promise<void> {
  const { config } = app;
  const url = serviceUrlOf(config);
  await checkLocation(app);
  await checkSecretFiles(config);
  const { checkServiceReach } = await import('../service/reach.ts');
  await checkServiceReach(url, tlsOf(config));
  await checkQueueLocation(app);
  await openWarehouse(app);
  await app.checkService();
}

/** Tells of a clock that is off: what is due later comes at a wrong time. The rest of the remarks is the doctor's. */
async function checkQueueLocation({ config, report }: App): Promise<void> {
  if (config.redis === undefined) return;
  const { checkRedis } = await import('../queue/redis/check.ts');
  const { remarks } = await checkRedis(redisLocationOf(config));
  for (const { kind, message, hint } of remarks) if (kind === 'clock') report(`${message}. ${hint}`);
}

/**
 * Throws UsageError where a new warehouse would be made by accident: nobody looks, and its path depends on the working
 * folder, which under cron is the home folder.
 */
async function checkLocation(app: App): Promise<void> {
  const fault = await accidentalLocation(app);
  if (fault !== undefined && !app.isAttended) throw fault;
}

/** The refusal of a command without a terminal where a new warehouse would be made by accident; else undefined. */
export async function accidentalLocation({ config, warehouse }: App): Promise<UsageError | undefined> {
  if (config.isWarehousePlaced || (await warehouse.isStored())) return undefined;
  const folder = path.dirname(config.warehouse.url.slice('duckdb:'.length));
  if (existsSync(folder) && folder !== path.resolve('.')) return undefined;
  return new UsageError(
    `there is no warehouse at ${warehouse.location}: a relative path, seen from this working folder`,
    {
      hint:
        'Name the configuration file by WELLSYNC_CONFIG, or give WELLSYNC_DATA_DIR (or WELLSYNC_WAREHOUSE) an absolute path. ' +
        `If a new warehouse is meant to be here, make its folder first: ${folder}`,
    },
  );
}

/** A night that begins with a new warehouse is no quiet one: the old one may be lost, or its disk not mounted. */
async function openWarehouse({ warehouse, report }: App): Promise<void> {
  if (!(await warehouse.isStored())) report(`There is no warehouse yet: a new one is made at ${warehouse.location}.`);
  await warehouse.open();
}

/** For a plan of work that asks the warehouse alone: it would make one as well. Throws UsageError. */
export async function checkBeforePlan(app: App): Promise<void> {
  await checkLocation(app);
  await openWarehouse(app);
}

/** As checkBeforeWork, for a run, which needs the queue of the warehouse too. */
export async function checkBeforeRun(app: App): Promise<void> {
  await alerted(app, async () => {
    await checkQueueOfNewWarehouse(app);
    await checkParts(app);
  });
}

/** Somebody at a terminal sees it, and before the first run nobody waits for a night. */
async function alertOfRefusal(app: App, error: unknown): Promise<void> {
  if (app.isAttended || !(error instanceof UnreachableError)) return;
  const isStored = await app.warehouse.isStored().catch(() => undefined);
  // A warehouse that can be reached is refused for what somebody has to correct.
  if (isStored === false || (isStored === true && error.part === 'warehouse')) return;
  const { keeperOfCommand } = await import('./alerts/keeper.ts');
  await keeperOfCommand(app, 'command').recordRefusal(error);
}

/**
 * The check of a warehouse makes it, so a queue that works another one is refused before. Throws UnreachableError then
 * (G11).
 */
async function checkQueueOfNewWarehouse({ config, warehouse, queueWay }: App): Promise<void> {
  if (await warehouse.isStored()) return;
  if (config.redis === undefined) return;
  const { warehouseId } = await queueWay.identity();
  if (warehouseId !== undefined) throw otherWarehouse(warehouse.location);
}

/**
 * Checks for a worker, which waits for a service that is down. Throws UsageError or UnreachableError for the first part
 * with a fault.
 */
export async function checkBeforeWorking(app: App): Promise<void> {
  const { config } = app;
  serviceUrlOf(config);
  await checkLocation(app);
  await checkQueueLocation(app);
  await checkQueueOfNewWarehouse(app);
  await openWarehouse(app);
  await requireOwnInbox(app);
}

/**
 * Reads every file with a secret or a certificate in the configuration. Throws UsageError with every one that cannot be
 * read or is empty; the content of a file is never shown (G10).
 */
export async function checkSecretFiles(config: Config): Promise<void> {
  const faults = await Promise.all(secretFilesOf(config).map(faultOf));
  const issues = faults.filter((fault) => fault !== undefined);
  if (issues.length === 0) return;
  throw new UsageError('what lets wellsync in at the service cannot be read', {
    issues,
    hint: 'Check the paths, and that this user may read the files.',
  });
}

interface SecretFile {
  /** Name of the setting. */
  readonly setting: string;
  readonly file: string;
}

function secretFilesOf({ service: { tokenFile, oauth, tls } }: Config): readonly SecretFile[] {
  const named = {
    'WELLSYNC_SERVICE_TOKEN_FILE (service.tokenFile)': tokenFile,
    'service.oauth.clientSecretFile': oauth?.clientSecretFile,
    'service.tls.caFile': tls?.caFile,
    'service.tls.certFile': tls?.certFile,
    'service.tls.keyFile': tls?.keyFile,
    'service.tls.passphraseFile': tls?.passphraseFile,
  };
  return Object.entries(named).flatMap(([setting, file]) => (file === undefined ? [] : [{ setting, file }]));
}

async function faultOf({ setting, file }: SecretFile): Promise<string | undefined> {
  try {
    const content = await readFile(file, 'utf8');
    return content.trim() === '' ? `${setting}: the file ${file} is empty` : undefined;
  } catch (error) {
    return `${setting}: the file ${file} cannot be read: ${fileReason(error)}`;
  }
}
