/** Decides which counts a report tells, in which order, and how its notices read. Pure. */
import type { Balance, Counts } from '../core/run.ts';
import { folded } from './folded-text.ts';
import { figure, printable, spacedName } from './words.ts';

/** In the order in which a record goes: read, then what became of it. Others follow by name. */
const ofExport = ['read', 'inserted', 'updated', 'unchanged', 'repeated', 'outsideWindow', 'quarantined', 'removed'];
const ofPush = ['rows', 'accepted', 'sendable', 'superseded', 'rejectedByUs', 'rejectedByService', 'failed', 'pipes'];
const ofCleanup = ['deleted', 'alreadyGone', 'refused', 'verifiedGone', 'stillThere', 'notVerified'];
const order = [...ofExport, ...ofPush, ...ofCleanup];

/** Told even when they are 0; the balance names every part of the sum anyway. */
const alwaysTold = ['read', 'inserted', 'updated', 'unchanged', 'removed', 'rows', 'accepted', 'sendable'];

/** As many as the units: told already. */
const neverTold = ['windows'];

/** What a name alone does not say. */
const remarks: Readonly<Record<string, string>> = {
  superseded: 'not sent: a later row of the same pipe went instead',
  defaulted: 'a required number did not come: its documented default 0 was taken',
  outsideWindow: 'came though not asked for, and not taken',
  heldRows: 'stay until you allow them to go',
};

/** Rows of a table: name, figure and remark. */
export function countRows(counts: Counts): ReadonlyArray<readonly [string, string, string]> {
  const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(counts)
    .filter(([name, count]) => !neverTold.includes(name) && (count !== 0 || alwaysTold.includes(name)))
    .toSorted(([left], [right]) => rank(left) - rank(right) || left.localeCompare(right))
    .map(([name, count]) => [spacedName(name), figure(count), remarks[name] ?? '']);
}

/** The statement in the figures and the names of the table above it. */
export function balanceText({ balanced, statement }: Balance, width: number): string {
  const readable = spacedName(statement).replaceAll(/\d+/g, (digits) => figure(Number(digits)));
  return folded(`  ${balanced ? 'It adds up' : 'It does not add up'}: ${readable}`, width, '    ');
}

/** Empty where there are none. */
export function noticesText(notices: readonly string[], width: number): string {
  if (notices.length === 0) return '';
  return ['Notices', ...notices.map((notice) => folded(`  - ${printable(notice)}`, width, '    '))].join('\n');
}
