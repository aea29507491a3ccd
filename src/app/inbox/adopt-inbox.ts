/** The request to make this installation the owner of its inbox, whoever was. */
import { isDeepStrictEqual } from 'node:util';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { inboxRefused, installationText, ownerText } from '../../core/inbox/owner.ts';
import { InboxFolder } from '../../files/inbox-folder.ts';
import { type FoundOwner, readOwner, replaceOwner } from '../../files/inbox-owner.ts';
import type { App } from '../app.ts';
import { faultsAt, findInstallation, inboxFoldersOf, ownerToBe } from './inbox-owner.ts';
import type { Confirmation } from '../service/service-change.ts';

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
