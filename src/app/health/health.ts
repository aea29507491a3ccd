/** The checks of `wellsync doctor`: each part is used, and each finding says what to do. */
import type { Config } from '../../../config/schema.ts';
import { kindText } from '../../core/alerts/kinds.ts';
import { counted, instantText, listed } from '../../core/base/text.ts';
import { holdText, outageText } from '../../core/run/service-hold.ts';
import { keeperOfCommand } from '../alerts/keeper.ts';
import { type App, createApp } from '../app.ts';
import { checkDisk, checkFiles, linkFindings, namedItself, writeFault } from './disk.ts';
import { checked, failed, failedFinding, type Finding, ok, Patience, warning } from './finding.ts';
import { checkServiceAndAccess } from './service.ts';
import {
  beatAgeOfHolder,
  checkWarehouse,
  checkWorkers,
  droppedDatesFindings,
  type Liveness,
  livenessOf,
  queueFindings,
  zoneFindings,
} from './warehouse.ts';
import path from 'node:path';
import { inboxRefused } from '../../core/pipes/inbox.ts';
import { readOwner } from '../../files/inbox-owner.ts';
import {
  allFaults,
  findInstallation,
  inboxFoldersOf,
  installationOf,
  type OwnInstallation,
} from '../inbox/inbox-owner.ts';
import { stat } from 'node:fs/promises';
import type { SecretFile } from '../../../config/yaml-tree.ts';
import type { HttpSettings } from '../../../config/http-settings.ts';
import { fewDaysLeft } from '../../core/run/token-expiry.ts';
import { isLoopbackHost } from '../access/access.ts';

const workersRemedy = {
  hint: 'See whether WELLSYNC_REDIS_URL and WELLSYNC_QUEUE_PREFIX are those of the workers.',
};
const warehouseRemedy = {
  hint: 'See WELLSYNC_WAREHOUSE (or warehouse.url), and which other program has the file.',
};

/**
 * Checks with the configuration; `uwi` is a well to ask the service for. A failed part keeps no other from its check. `report`
 * is called with what is waited for.
 */
export async function checksOfParts(
  config: Config,
  uwi: string | undefined,
  report: (message: string) => void = () => {},
): Promise<readonly Finding[]> {
  const patience = new Patience();
  const queue = await queueFindings(config);
  const hasQueue = queue[0].status !== 'failed';
  const workers = hasQueue
    ? [await checked('workers', workersRemedy, () => patience.withApp(config, (app) => checkWorkers(app, patience)))]
    : [];
  return [
    ...queue,
    ...workers,
    ...(hasQueue ? await holdFindings(config, patience) : []),
    await checked('warehouse', warehouseRemedy, () => patience.withApp(config, (app) => checkWarehouse(app, patience))),
    ...(await alertFindings(config, hasQueue, patience)),
    ...(await storedFindings(config, patience)),
    ...(await checkServiceAndAccess(config, { uwi, hasQueue, report, patience })),
    ...(await secretFindings(config)),
    await checkDisk(config.dataDir),
    ...(await checkFiles(config)),
    ...(await inboxFindings(config, patience)),
    ...tokenFindings(config.http, Date.now()),
  ];
}

/** None where there is no warehouse yet, or a worker holds it: the check of the warehouse says why. */
function alertFindings(config: Config, hasQueue: boolean, patience: Patience): Promise<readonly Finding[]> {
  return foundOrNone(config, patience, async (app) => {
    if (!(await app.warehouse.isStored())) return [];
    // Where no worker is alive, nobody else sees what is wrong with schedules and queues.
    if (hasQueue) await observeOnce(app);
    const [open, { messages, sinceMs }] = [
      await app.ledger.alerts.countOpen(Date.now()),
      await app.ledger.alerts.outbox.waiting(Date.now()),
    ];
    const shown = open.map(
      ({ kind, severity, alerts, areWells }) => `${kindText(kind, alerts, areWells)} (${severity})`,
    );
    const action = { kind: 'list-alerts' } as const;
    const message = shown.length === 0 ? 'none is open' : listed(shown);
    const isSerious = open.some(({ severity }) => severity !== 'info');
    return [
      isSerious ? warning('alerts', message, { action }) : ok('alerts', message),
      ...(sinceMs === undefined || config.alerts.url === undefined
        ? []
        : [
            warning('alerts', `${counted(messages, 'message')} for the receiver since ${instantText(sinceMs)}`, {
              hint: 'See whether alerts.url is right, and the receiver is up.',
            }),
          ]),
    ];
  });
}

async function observeOnce(app: App): Promise<void> {
  const alerts = keeperOfCommand(app, 'doctor');
  await alerts.observe({ withWorkers: true });
  await alerts.sendInTime();
}

/** None while requests may be sent, and none without a warehouse, a service or Redis: the checks of those say so. */
function holdFindings(config: Config, patience: Patience): Promise<readonly Finding[]> {
  return foundOrNone(config, patience, async (app) => {
    const { serviceHold } = await app.queue('prompt');
    const [hold, outage] = [await serviceHold.read(), await serviceHold.readOutage()];
    const action = { kind: 'release-service' } as const;
    return [
      ...(hold === undefined ? [] : [warning('hold', holdText(hold), { action })]),
      ...(outage === undefined ? [] : [warning('outage', outageText(outage), { action })]),
    ];
  });
}

/** None where the warehouse cannot be opened: its own check says so. */
function storedFindings(config: Config, patience: Patience): Promise<readonly Finding[]> {
  return foundOrNone(config, patience, async (app) => [
    ...(await zoneFindings(app)),
    ...(await droppedDatesFindings(app)),
  ]);
}

/** For a check whose errors another one reports. */
async function foundOrNone(
  config: Config,
  patience: Patience,
  check: (app: App) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await patience.withApp(config, check);
  } catch {
    return [];
  }
}

/** Whether a worker is at work, by the beat alone, with the address of the warehouse. For a probe every few seconds. */
export async function checkLive(config: Config): Promise<Liveness & { readonly warehouse: string }> {
  await using app = createApp(config);
  return { ...(await livenessOf(app)), warehouse: app.warehouse.location };
}

// Whose the inbox is, and whether files can be written into it. What is another one's is not touched.

const part = 'inbox';
const inboxRemedy = { hint: 'See inbox.folder, and the findings of the other parts.' };

/** None where the configuration names no inbox. */
async function inboxFindings(config: Config, patience: Patience): Promise<readonly Finding[]> {
  if (config.inbox.folder === undefined) return [];
  const finding = await checked(part, inboxRemedy, () =>
    patience.withApp(config, (app) => inboxFinding(app, patience)),
  );
  return [finding, ...(await inboxLinks(config, config.inbox.folder))];
}

/** Those within the folders of its kinds are refused. */
async function inboxLinks(config: Config, folder: string): Promise<readonly Finding[]> {
  const links = [...(await linkFindings(part, path.resolve(config.folder, folder), namedItself('inbox.folder')))];
  for (const { root } of inboxFoldersOf(config)) links.push(...(await linkFindings(part, root, aFolderItself)));
  return links;
}

function aFolderItself(): string {
  return 'Make it a folder: whoever may replace the link chooses whose files are taken, and where they end.';
}

async function inboxFinding(app: App, patience: Patience): Promise<Finding> {
  const installation = await installationOrBusy(app, patience);
  const faults = await allFaults(app.config, installation);
  if (faults.length > 0) return failedFinding(part, inboxRefused(faults, installation.own));
  const reported: string[] = [];
  for (const { root } of inboxFoldersOf(app.config)) {
    const fault = await writeFault(root);
    if (fault !== undefined) return failed(part, fault, { hint: 'Let the user of the worker write there.' });
    const isOwned = (await readOwner(root)).kind === 'owner';
    const whose = isOwned ? 'of this installation' : 'without an owner: the first worker becomes it';
    reported.push(`${root}, ${whose}`);
  }
  return ok(part, reported.join('\n'));
}

/** A warehouse that a worker of this installation holds is not opened: its queue knows its id. */
async function installationOrBusy(app: App, patience: Patience): Promise<OwnInstallation> {
  try {
    return await findInstallation(app);
  } catch (error) {
    await beatAgeOfHolder(error, app, patience);
    return installationOf(app, await app.queueWay.identity());
  }
}

// Secrets: files that others can read, a token that goes over plain http, and tokens of the HTTP API that end.

const secretsPart = 'secrets';

/** Warnings alone: none where secrets are kept and sent as they should be. */
async function secretFindings(config: Config): Promise<readonly Finding[]> {
  const ofFiles = await Promise.all(config.secretFiles.map(fileFinding));
  return [...plainHttpFindings(config), ...ofFiles.filter((finding) => finding !== undefined)];
}

/** A token that is had from an https address goes over http to the service all the same. */
function plainHttpFindings({ service: { url, token, tokenFile, oauth } }: Config): readonly Finding[] {
  const hasToken = [token, tokenFile, oauth].some((way) => way !== undefined);
  return [
    ...(hasToken ? plainHttpFinding('the token', 'service.url', url) : []),
    ...plainHttpFinding('the client secret', 'service.oauth.tokenUrl', oauth?.tokenUrl),
  ];
}

function plainHttpFinding(secret: string, setting: string, url: string | undefined): readonly Finding[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { protocol, hostname, host } = new URL(url);
  if (protocol !== 'http:' || isLoopbackHost(hostname)) return [];
  const message = `${secret} goes to ${host} over plain http: whoever is on the way can read it`;
  return [warning(secretsPart, message, { hint: `Use https in ${setting}.` })];
}

/** None for a file that cannot be looked at, which the parts that need it tell, and none on Windows, which has no modes. */
async function fileFinding({ called, file }: SecretFile): Promise<Finding | undefined> {
  const { getuid, getegid, getgroups } = process;
  if (getuid === undefined || getegid === undefined || getgroups === undefined) return undefined;
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) return undefined;
  const readers = secretReadersOf(found, [getegid(), ...getgroups()]);
  if (readers === undefined) return undefined;
  const who = readers === 'everybody' ? 'every user of this host' : 'every member of its group';
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  const uid = getuid();
  const owner = uid === 0 || found.uid === uid ? undefined : uid;
  return warning(secretsPart, `${file} (${called}) can be read by ${who}: its mode is ${mode}`, {
    action: { kind: 'protect-file', file, owner },
  });
}

interface FileMode {
  /** The permission bits, such as 0o640. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Who else can read a file that holds a secret, by its mode; `group`: other members of its group. A file of root for a group of this process is how secrets are handed out
 * (Kubernetes mounts them so with fsGroup, and /etc keeps them so): no reader too many.
 */
export function secretReadersOf(
  { mode, uid, gid }: FileMode,
  ownGroups: readonly number[],
): 'everybody' | 'group' | undefined {
  if ((mode & 0o004) !== 0) return 'everybody';
  const isHandedOut = uid === 0 && ownGroups.includes(gid);
  return (mode & 0o040) !== 0 && !isHandedOut ? 'group' : undefined;
}

/** One for each token of the HTTP API that has expired, or expires within 14 days: whoever uses it needs another in time. */
function tokenFindings({ tokens }: Pick<HttpSettings, 'tokens'>, nowMs: number): readonly Finding[] {
  return tokens.flatMap((token) => {
    const days = fewDaysLeft(token, nowMs);
    if (days === undefined) return [];
    const { name, role, expires = '' } = token;
    const message =
      days === 0
        ? `the token ${name} of http.tokens expired with ${expires} (UTC): it lets nobody in`
        : `the token ${name} of http.tokens expires with ${expires} (UTC), ${days === 1 ? 'today' : `in ${counted(days - 1, 'day')}`}`;
    return [warning('tokens', message, { action: { kind: 'replace-token', name, role } })];
  });
}
