/** Decides which counts a report tells, in which order, and how its notices read. Pure. */
import type { Balance, Counts } from '../core/run.ts';
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

/** Rows of a table: name and figure. */
export function countRows(counts: Counts): ReadonlyArray<readonly [string, string]> {
  const rank = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(counts)
    .filter(([name, count]) => !neverTold.includes(name) && (count !== 0 || alwaysTold.includes(name)))
    .toSorted(([left], [right]) => rank(left) - rank(right) || left.localeCompare(right))
    .map(([name, count]) => [spacedName(name), figure(count)]);
}

export function balanceText({ balanced, statement }: Balance): string {
  return `  ${balanced ? 'It adds up' : 'It does not add up'}: ${statement}`;
}

/** Empty where there are none. */
export function noticesText(notices: readonly string[]): string {
  if (notices.length === 0) return '';
  return ['Notices', ...notices.map((notice) => `  - ${printable(notice)}`)].join('\n');
}
