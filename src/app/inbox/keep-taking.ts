/** The inbox of a worker, by the configuration. */
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { OutageRecord } from '../../core/base/outage.ts';
import { InboxFolder } from '../../files/inbox/inbox-folder.ts';
import type { App } from '../app.ts';
import { inboxFoldersOf } from './inbox-folders.ts';
import type { InboxRight } from './inbox-owner.ts';
import { InboxWorker } from './inbox-worker.ts';

/** The longest pause between two looks at a folder. */
const longestLookMs = 2_000;

/**
 * Takes the files of every kind of inbox until the signal aborts; ends at once where the configuration names no folder.
 * Resolves when the work on files has been handed back.
 */
export async function keepTaking(
  { app, log, right }: { readonly app: App; readonly log: Logger; readonly right: InboxRight },
  outages: OutageRecord,
  signal: AbortSignal,
): Promise<void> {
  const lookEveryMs = Math.min(longestLookMs, Math.max(50, app.config.inbox.settleMs / 2));
  const workers = inboxFoldersOf(app.config).map(
    ({ kind, root }) =>
      new InboxWorker({
        app,
        inbox: new InboxFolder(root, () => right.hold(root)),
        actor: `inbox/${kind}@${hostname()}`,
        kind,
        log,
        outages,
        lookEveryMs,
      }),
  );
  await Promise.all(workers.map((worker) => worker.keepWorking(signal)));
}
