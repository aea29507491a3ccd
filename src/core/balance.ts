/** Decides whether a run accounts for every record: the sums of guarantee G2, one for each kind of job. */
import type { Balance, Counts } from './run.ts';

/** Says that one count equals the sum of the others; an absent count is 0. */
function balanceOf(counts: Counts, whole: string, parts: readonly string[]): Balance {
  const value = (name: string): number => counts[name] ?? 0;
  const sum = parts.reduce((total, name) => total + value(name), 0);
  const balanced = value(whole) === sum;
  const side = parts.map((name) => `${value(name)} ${name}`).join(' + ');
  return { balanced, statement: `${value(whole)} ${whole} ${balanced ? '=' : '≠'} ${side}` };
}

/** G2 for an export of daily production. */
export function balanceExport(counts: Counts): Balance {
  return balanceOf(counts, 'read', ['inserted', 'updated', 'unchanged', 'repeated', 'outsideWindow', 'quarantined']);
}

/** G2 for an export of definitions or wells. */
export function balanceDefinitions(counts: Counts): Balance {
  return balanceOf(counts, 'read', ['inserted', 'updated', 'unchanged', 'repeated']);
}

/** G2 for a push of network pipes: every row of the file. */
export function balancePush(counts: Counts): Balance {
  return balanceOf(counts, 'rows', ['accepted', 'superseded', 'rejectedByUs', 'rejectedByService', 'failed']);
}

/** G2 for a look through a file of pipes that sends nothing. */
export function balanceDryRun(counts: Counts): Balance {
  return balanceOf(counts, 'rows', ['sendable', 'superseded', 'rejectedByUs']);
}
