/** The folders of the inbox, by the configuration. */
import path from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { type InboxKind, inboxKinds } from '../../core/inbox/arrival.ts';

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
