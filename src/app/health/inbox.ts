/** Whose the inbox is, and whether files can be written into it. What is another one's is not touched. */
import path from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { inboxRefused } from '../../core/pipes/inbox.ts';
import { readOwner } from '../../files/inbox-owner.ts';
import type { App } from '../app.ts';
import {
  allFaults,
  findInstallation,
  inboxFoldersOf,
  installationOf,
  type OwnInstallation,
} from '../inbox/inbox-owner.ts';
import { beatAgeOfHolder } from './warehouse.ts';
import { linkFindings, namedItself, writeFault } from './disk.ts';
import { checked, failed, failedFinding, type Finding, ok, type Patience } from './finding.ts';

const part = 'inbox';
const inboxRemedy = { hint: 'See inbox.folder, and the findings of the other parts.' };

/** None where the configuration names no inbox. */
export async function inboxFindings(config: Config, patience: Patience): Promise<readonly Finding[]> {
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
