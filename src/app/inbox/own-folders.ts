/** The folders of the inbox that this installation owns, for what is removed after its time. */
import { inboxRefused } from '../../core/inbox/owner.ts';
import { readOwner } from '../../files/inbox/owner-file.ts';
import type { App } from '../app.ts';
import { inboxFoldersOf } from './inbox-folders.ts';
import { faultsAt, findInstallation } from './inbox-owner.ts';

/** Paths; those that are another one's are told and left out, those without an owner left out until a worker takes them. */
export async function ownInboxFolders(app: App): Promise<readonly string[]> {
  const { config, tell } = app;
  if (config.inbox.folder === undefined) return [];
  const installation = await findInstallation(app);
  const own: string[] = [];
  for (const { root } of inboxFoldersOf(config)) {
    const faults = await faultsAt(root, installation);
    if (faults.length > 0) {
      const { message, issues } = inboxRefused(faults, installation.own);
      tell([message, ...issues].join('\n'));
    } else if ((await readOwner(root)).kind === 'owner') own.push(root);
  }
  return own;
}
