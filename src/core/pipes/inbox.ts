/** Files of an inbox: which are taken, when, under which names they end, and whose the inbox is (docs/inbox.md). Pure. */
import { UsageError } from '../base/errors.ts';
import { instantText } from '../base/text.ts';

/** What becomes of a file: its pipes are pushed, or the targets in it are planned. Also the name of its folder. */
export const inboxKinds = ['network-pipes', 'cleanup'] as const;
export type InboxKind = (typeof inboxKinds)[number];

/** A name that ends otherwise, or begins with a dot, is of a file that is still being copied, or of none for wellsync. */
export function isTakenName(name: string): boolean {
  return !name.startsWith('.') && /\.csv(?:\.gz)?$/i.test(name);
}

/** `NAME.again.csv`: content that was pushed is pushed again. */
export function isAgainName(name: string): boolean {
  return /\.again\.csv(?:\.gz)?$/i.test(name);
}

export const reportName = 'report.json';

/** The name of the rejected rows beside the file that they are of. */
export function rejectsNameBeside(name: string): string {
  return name.toLowerCase() === 'rejects.csv' ? 'rejected-rows.csv' : 'rejects.csv';
}

/** What a look at a file shows of it: other bytes have another one. */
export interface Sighting {
  readonly inode: string;
  readonly bytes: number;
  readonly changedAtNs: string;
}

export function isSameSighting(one: Sighting, other: Sighting): boolean {
  return one.inode === other.inode && one.bytes === other.bytes && one.changedAtNs === other.changedAtNs;
}

/**
 * Knows which files have stopped changing: those that looked the same at looks of this process for `settleMs`. The clock
 * is the caller's and never goes back, so that no other clock counts, that of a network file system neither.
 */
export class Settling {
  readonly #settleMs: number;
  #seen = new Map<string, { readonly sighting: Sighting; readonly sinceMs: number }>();

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** One look at all files that are there, by a key for each; forgets the others. Returns the keys of those that have settled. */
  poll(files: ReadonlyMap<string, Sighting>, nowMs: number): ReadonlySet<string> {
    const seen = new Map<string, { readonly sighting: Sighting; readonly sinceMs: number }>();
    const settled = new Set<string>();
    for (const [key, sighting] of files) {
      const known = this.#seen.get(key);
      const sinceMs = known !== undefined && isSameSighting(known.sighting, sighting) ? known.sinceMs : nowMs;
      seen.set(key, { sighting, sinceMs });
      if (nowMs - sinceMs >= this.#settleMs) settled.add(key);
    }
    this.#seen = seen;
    return settled;
  }
}

// Who owns an inbox: one installation, so that a copied configuration sends no file to another service (G11).

/** An installation as an inbox knows it. Nothing of it is secret (G10). */
export interface Installation {
  /** Undefined while it has no warehouse. */
  readonly warehouseId: string | undefined;
  /**
   * The place of a DuckDB warehouse, since a copy of its file has the id of the original; null for a warehouse on a server,
   * which all its hosts share, and undefined while a place has no id.
   */
  readonly placeId: string | null | undefined;
  /** The key of its service. */
  readonly service: string;
  /** Address of its warehouse, without secrets. */
  readonly warehouse: string;
  readonly host: string;
}

/** An installation that took an inbox. */
export interface InboxOwner extends Installation {
  readonly warehouseId: string;
  readonly placeId: string | null;
  readonly sinceMs: number;
}

/** `renamed`: the owner's service has another key by now; it stays the owner. */
export type OwnerRelation = 'same' | 'renamed' | 'copy' | 'other';

/** What an installation is to the owner of an inbox. `names`: every name of its service, as its warehouse knows them. */
export function relationTo(owner: InboxOwner, own: Installation, names: readonly string[]): OwnerRelation {
  if (owner.warehouseId !== own.warehouseId) return 'other';
  if (owner.placeId !== own.placeId) return 'copy';
  if (owner.service === own.service) return 'same';
  return names.includes(owner.service) ? 'renamed' : 'other';
}

/** Why an installation may not use a folder of its inbox. */
export type InboxFault =
  | { readonly kind: 'owned'; readonly root: string; readonly owner: InboxOwner; readonly isCopy: boolean }
  /** The file that names the owner holds none. */
  | { readonly kind: 'unreadable'; readonly root: string; readonly reason: string }
  /** A folder of wellsync in the inbox is a link. */
  | { readonly kind: 'link'; readonly root: string; readonly name: string };

export function installationText({ service, warehouse, host, warehouseId }: Installation): string {
  const id = warehouseId === undefined ? 'which does not exist yet' : `with the id ${warehouseId}`;
  return `service ${service}, warehouse ${warehouse} ${id}, host ${host}`;
}

export function ownerText(owner: InboxOwner): string {
  return `${installationText(owner)}, since ${instantText(owner.sinceMs)}`;
}

/** An inbox that this process may not use: it touches nothing in it. */
export class InboxRefusedError extends UsageError {
  override readonly name: string = 'InboxRefusedError';
}

/** `faults`: at least one. */
export function inboxRefused(faults: readonly InboxFault[], own: Installation): InboxRefusedError {
  const issues = faults.map(faultText);
  if (faults.some(({ kind }) => kind === 'link')) {
    return new InboxRefusedError('the inbox cannot be used: a folder of wellsync in it is a link', {
      issues,
      hint: 'Make folders of the links: what is renamed into one would leave the inbox.',
    });
  }
  const isOwned = faults.some(({ kind }) => kind === 'owned');
  const whose = isOwned ? 'belongs to another installation' : 'has an owner that cannot be read';
  return new InboxRefusedError(`the inbox ${whose}: nothing in it was touched`, {
    issues: [...issues, `This one is ${installationText(own)}`],
    hint: 'Set inbox.folder to a folder of its own.',
    action: { kind: 'adopt-inbox' },
  });
}

function faultText(fault: InboxFault): string {
  switch (fault.kind) {
    case 'link':
      return `${fault.root}/${fault.name} is a link`;
    case 'unreadable':
      return `${fault.root}/${ownerName} names no owner: ${fault.reason}`;
    case 'owned': {
      const copy = fault.isCopy ? ': one of the two warehouses is a copy of the other, or was moved' : '';
      return `${fault.root} belongs to ${ownerText(fault.owner)}${copy}`;
    }
  }
}

/** The file in an inbox that names its owner; a name with a dot is never taken. */
export const ownerName = '.wellsync-owner.json';

/** What is kept beside a DuckDB file, to tell it from a copy. */
export interface KeptLocation {
  readonly id: string;
  readonly host: string;
  readonly folder: string;
  /** Of the file that keeps this: a copy of it has another one. */
  readonly mark: string;
}

/**
 * Whether the file that keeps a place is where it was written. It may be moved within its disk, be seen under other names
 * of folder and host, as by containers, and be restored where it lay: all that is no copy.
 */
export function isSameLocation(kept: KeptLocation, found: Omit<KeptLocation, 'id'>): boolean {
  return kept.mark === found.mark || (kept.host === found.host && kept.folder === found.folder);
}
