/** The text of the counts, the balance and the notices of a report. Pure. */
import { balanceSentence, type ShownCount } from '../../app/views/run-counts.ts';
import type { Balance } from '../../core/run/run.ts';
import { folded } from './folded-text.ts';
import { figure, printable, spacedName } from '../../core/base/text.ts';

/** Rows of a table: name, figure and remark. */
export function countRows(counts: readonly ShownCount[]): ReadonlyArray<readonly [string, string, string]> {
  return counts.map(({ name, count, remark }) => [spacedName(name), figure(count), remark]);
}

/** The statement with the figures and the names of the table above it. */
export function balanceText(balance: Balance, width: number): string {
  return folded(`  ${balanceSentence(balance)}`, width, '    ');
}

/** Empty without notices. */
export function noticesText(notices: readonly string[], width: number): string {
  if (notices.length === 0) return '';
  return ['Notices', ...notices.map((notice) => folded(`  - ${printable(notice)}`, width, '    '))].join('\n');
}
