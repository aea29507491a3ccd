/** The inbox of this installation, which no other one may use, and the request to own it (docs/inbox.md, G11). */
import { hostname } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import { AbortedError, UsageError, WellsyncError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import {
  type InboxFault,
  type InboxKind,
  inboxKinds,
  type InboxOwner,
  inboxRefused,
  type Installation,
  installationText,
  ownerText,
  relationTo,
} from '../../core/pipes/inbox.ts';
import { InboxFolder } from '../../files/inbox-folder.ts';
import { createOwner, type FoundOwner, linkedFolders, readOwner, replaceOwner } from '../../files/inbox-owner.ts';
import { keepLocationId, readLocationId } from '../../files/place-id.ts';
import { databaseFileOf } from '../../warehouse/create-warehouse.ts';
import type { App } from '../app.ts';
import type { Confirmation } from '../service/service-requests.ts';
import { serviceIdentityOf } from '../service/service-settings.ts';

/** This installation, with every name of its service. */
export interface OwnInstallation {
  readonly own: Installation;
  readonly names: readonly string[];
}

/** Throws UsageError without an address of the service, and as the warehouse does. Makes neither a warehouse nor an id. */
export async function findInstallation(app: App): Promise<OwnInstallation> {
  const { config, ledger, warehouse } = app;
  if (!(await warehouse.isStored())) return installationOf(app, { warehouseId: undefined });
  const { warehouseId, service = serviceIdentityOf(config).key } = await ledger.ownership.read();
  return installationOf(app, { warehouseId, service, names: await ledger.ownership.namesOf(service) });
}

/** As {@link findInstallation}, of a warehouse whose id and names are known otherwise: without opening it. */
export async function installationOf(
  { config, warehouse }: Pick<App, 'config' | 'warehouse'>,
  known: {
    readonly warehouseId: string | undefined;
    readonly service?: string;
    readonly names?: readonly string[];
  },
): Promise<OwnInstallation> {
  const { warehouseId, names = [] } = known;
  const identity = config.service.url === undefined ? undefined : serviceIdentityOf(config);
  const database = databaseFileOf(config.warehouse.url);
  const isMade = warehouseId !== undefined;
  const locationId = database === undefined ? null : isMade ? await readLocationId(database) : undefined;
  const service = known.service ?? serviceIdentityOf(config).key;
  const own = { warehouseId, placeId: locationId, service, warehouse: warehouse.location, host: hostname() };
  return { own, names: [...names, ...(identity === undefined ? [] : [identity.key, identity.address])] };
}

/** This installation as the owner of an inbox from now on: the place of its warehouse gets an id. */
async function ownerToBe(app: App, { own }: OwnInstallation): Promise<InboxOwner> {
  const { warehouseId } = own;
  if (warehouseId === undefined) throw new UsageError('there is no warehouse yet, whose id an inbox could keep');
  const database = databaseFileOf(app.config.warehouse.url);
  const locationId = database === undefined ? null : await keepLocationId(database);
  return { ...own, warehouseId, placeId: locationId, sinceMs: Date.now() };
}

/** What keeps an installation from a folder of its inbox; touches nothing. Throws OutageError for a disk that is gone. */
async function faultsAt(
  root: string,
  { own, names }: OwnInstallation,
  found?: FoundOwner,
): Promise<readonly InboxFault[]> {
  const links = (await linkedFolders(root)).map((name) => ({ kind: 'link', root, name }) as const);
  found ??= await readOwner(root);
  if (found.kind === 'none') return links;
  if (found.kind === 'unreadable') return [...links, { ...found, root }];
  const relation = relationTo(found.owner, own, names);
  if (relation === 'same' || relation === 'renamed') return links;
  return [...links, { kind: 'owned', root, owner: found.owner, isCopy: relation === 'copy' }];
}

/** As {@link faultsAt}, of all its folders. */
export async function allFaults(config: Config, installation: OwnInstallation): Promise<readonly InboxFault[]> {
  const faults = [];
  for (const { root } of inboxFoldersOf(config)) faults.push(...(await faultsAt(root, installation)));
  return faults;
}

/** Throws InboxRefusedError where the inbox is another one's; touches nothing in it. */
export async function requireOwnInbox(app: App): Promise<void> {
  if (app.config.inbox.folder === undefined) return;
  const installation = await findInstallation(app);
  await passingOutages(async () => {
    const faults = await allFaults(app.config, installation);
    if (faults.length > 0) throw inboxRefused(faults, installation.own);
  });
}

/** A disk that is away at the start is waited for: every look of a worker asks for the owner again. */
async function passingOutages(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof WellsyncError)) throw error;
  }
}

/** The right to one inbox, for a process that takes files from it. */
export class InboxRight {
  readonly #installation: OwnInstallation;
  readonly #owner: InboxOwner;

  constructor(installation: OwnInstallation, owner: InboxOwner) {
    this.#installation = { ...installation, own: owner };
    this.#owner = owner;
  }

  /**
   * Makes this installation the owner where there is none, and keeps a new name of its service. Throws InboxRefusedError
   * where another one is the owner: nothing is touched then.
   */
  async hold(root: string): Promise<void> {
    // Read once: an owner that adopts the folder between two reads would be written over.
    const found = await readOwner(root);
    await this.#require(root, found);
    if (found.kind === 'owner' && found.owner.service !== this.#owner.service) {
      await replaceOwner(root, { ...this.#owner, sinceMs: found.owner.sinceMs });
    }
    if (found.kind !== 'none') return;
    await createOwner(root, { ...this.#owner, sinceMs: Date.now() });
    // Of processes that come at once, another one may have been the first.
    await this.#require(root);
  }

  async #require(root: string, found?: FoundOwner): Promise<void> {
    const faults = await faultsAt(root, this.#installation, found);
    if (faults.length > 0) throw inboxRefused(faults, this.#owner);
  }
}

/**
 * The right of a worker, which becomes the owner of every folder that has none, in one order, so that of two workers one
 * has all of them. Undefined without an inbox. Throws InboxRefusedError.
 */
export async function takeInbox(app: App, log: Logger): Promise<InboxRight | undefined> {
  if (app.config.inbox.folder === undefined) return undefined;
  await requireOwnInbox(app);
  const installation = await findInstallation(app);
  const right = new InboxRight(installation, await ownerToBe(app, installation));
  for (const { kind, root } of inboxFoldersOf(app.config)) {
    await passingOutages(() => right.hold(root));
    log.debug({ inbox: kind, folder: root }, 'the inbox is of this installation');
  }
  return right;
}

/**
 * Paths of the folders that this installation owns, for what is removed after its time. Those of another one are told and
 * left out; those without an owner are left out until a worker takes them.
 */
export async function ownInboxFolders(app: App): Promise<readonly string[]> {
  const { config, report } = app;
  if (config.inbox.folder === undefined) return [];
  const installation = await findInstallation(app);
  const own: string[] = [];
  for (const { root } of inboxFoldersOf(config)) {
    const faults = await faultsAt(root, installation);
    if (faults.length > 0) {
      const { message, issues } = inboxRefused(faults, installation.own);
      report([message, ...issues].join('\n'));
    } else if ((await readOwner(root)).kind === 'owner') own.push(root);
  }
  return own;
}

// The folders of the inbox, by the configuration.

/** One for each kind, with its absolute path, in one order for all; none where the configuration names no folder. */
export function inboxFoldersOf({
  inbox,
  folder,
}: Pick<Config, 'inbox' | 'folder'>): ReadonlyArray<{ readonly kind: InboxKind; readonly root: string }> {
  const root = inbox.folder;
  if (root === undefined) return [];
  return inboxKinds
    .filter((kind) => inbox.kinds.includes(kind))
    .map((kind) => ({ kind, root: path.join(path.resolve(folder, root), kind) }));
}

// The request to make this installation the owner of its inbox, whoever was.

interface AdoptedFolder {
  /** Absolute path of the folder of one kind. */
  readonly folder: string;
  /** The owner until now, in words; null where there was none. */
  readonly from: string | null;
  /** Files in `working/`, which the new owner works again. */
  readonly unfinished: number;
}

export interface AdoptedInbox {
  /** The new owner, in words. */
  readonly owner: string;
  /** Those that were of another one, or of none. */
  readonly folders: readonly AdoptedFolder[];
}

/**
 * Throws UsageError without an inbox, for a warehouse of another service, for a folder of wellsync that is a link, and
 * where the owner changed while it was asked; AbortedError if it was not confirmed.
 */
export async function adoptInbox(app: App, how: Omit<Confirmation, 'by'>): Promise<AdoptedInbox> {
  const { config } = app;
  if (config.inbox.folder === undefined) {
    throw new UsageError('inbox.folder is not set: there is no inbox', {
      action: { kind: 'set-setting', setting: 'inbox.folder' },
    });
  }
  await app.checkService();
  const installation = await findInstallation(app);
  const open = [];
  for (const { root } of inboxFoldersOf(config)) {
    const faults = await faultsAt(root, installation);
    const links = faults.filter(({ kind }) => kind === 'link');
    if (links.length > 0) throw inboxRefused(links, installation.own);
    const found = await readOwner(root);
    if (faults.length > 0 || found.kind === 'none') open.push({ root, found });
  }
  const folders = [];
  for (const { root, found } of open) {
    folders.push({ folder: root, from: ownerOf(found), unfinished: await new InboxFolder(root).countClaims() });
  }
  const adopted = { owner: installationText(installation.own), folders };
  if (how.dryRun || folders.length === 0) return adopted;
  await confirm(adopted, how);
  const owner = await ownerToBe(app, installation);
  for (const { root, found } of open) {
    if (!isDeepStrictEqual(await readOwner(root), found)) {
      throw new UsageError(`${root} got another owner meanwhile: it was left as it is`, {
        hint: 'Look who it is, and ask again.',
      });
    }
    await replaceOwner(root, owner);
    // Runs of another warehouse are none of this one.
    if (found.kind === 'owner' && found.owner.warehouseId !== owner.warehouseId)
      await new InboxFolder(root).forgetRuns();
  }
  return adopted;
}

function ownerOf(found: FoundOwner): string | null {
  if (found.kind === 'none') return null;
  return found.kind === 'owner' ? ownerText(found.owner) : `one that cannot be read: ${found.reason}`;
}

/** Which folders change hands, one a line. */
export function adoptedText({ owner, folders }: AdoptedInbox): string {
  const lines = folders.map(({ folder, from, unfinished }) => {
    const again =
      unfinished === 0 ? '' : `\n  ${counted(unfinished, 'file')} in working/ is worked again by the new owner.`;
    return `${folder}\n  owner until now: ${from ?? 'nobody'}${again}`;
  });
  return [...lines, `New owner: ${owner}`].join('\n');
}

async function confirm(adopted: AdoptedInbox, { yes, ask }: Omit<Confirmation, 'by'>): Promise<void> {
  if (yes) return;
  if (ask === undefined) {
    throw new UsageError('this changes the owner of the inbox, and nobody can be asked here', {
      issues: adoptedText(adopted)
        .split('\n')
        .map((line) => line.trim()),
      action: { kind: 'confirm-unattended' },
    });
  }
  const question = `${adoptedText(adopted)}\nWorkers of another owner take no more files. Type yes to go on: `;
  if ((await ask(question)) !== 'yes') throw new AbortedError('not confirmed: nothing was changed');
}
