import { spacedName } from '../base/text.ts';
import { type JobDescription, type StockDescription, wholeOf } from './job-description.ts';
import type { Balance, Counts, RunReport } from './run.ts';

/** The sum of guarantee G2, as its job declares it: whether a run accounts for every record. */
type Term = readonly [name: string, count: number];

/**
 * Compares the whole of a job's sum with its parts; an absent count is 0. When no count is the whole, the whole is the
 * number of units of the run, and the parts are the declared counts (or the settled units when none is declared) plus
 * the failed and the cancelled units.
 */
export function balanceOf(
  job: Pick<JobDescription, 'units' | 'counts' | 'stock'>,
  counts: Counts,
  units: RunReport['units'],
): Balance {
  const records = wholeOf(job) === undefined ? balanceOfUnits(job, counts, units) : balanceOfCounts(job, counts);
  const stock = job.stock === undefined ? undefined : balanceOfStock(job.stock, counts);
  if (stock === undefined) return records;
  return { balanced: records.balanced && stock.balanced, statement: `${records.statement}; ${stock.statement}` };
}

/**
 * Undefined for a run without removed rows whose sum holds: its inserted rows are in the other sum. A unit that an
 * earlier version settled has no such counts.
 */
function balanceOfStock(
  { before, added, removed, after, adrift }: StockDescription,
  counts: Counts,
): Balance | undefined {
  const count = (name: string): number => counts[name] ?? 0;
  const balanced = count(adrift) === 0;
  const isWhole = count(before) + count(added) - count(removed) === count(after);
  if (balanced && (count(removed) === 0 || !isWhole)) return undefined;
  const sum = `${count(before)} rows before + ${count(added)} ${added} - ${count(removed)} ${removed}`;
  const remark = balanced || !isWhole ? '' : `, with ${count(adrift)} rows in the wrong window`;
  return { balanced, statement: `${sum} ${isWhole ? '=' : '≠'} ${count(after)} rows after${remark}` };
}

/** The sum over counts alone. The statement uses the names that a report shows. */
export function balanceOfCounts(
  job: Pick<JobDescription, 'counts'> & { readonly record?: string | undefined },
  counts: Counts,
): Balance {
  const whole = wholeOf(job) ?? '';
  const count = counts[whole] ?? 0;
  const isOne = count === 1 && job.record !== undefined && whole === `${job.record}s`;
  return equation([isOne ? job.record : whole, count], partsOf(job, counts));
}

function balanceOfUnits(
  job: Pick<JobDescription, 'units' | 'counts'>,
  counts: Counts,
  { total, done, held, failed, cancelled }: RunReport['units'],
): Balance {
  const settled = partsOf(job, counts).map(([name, count]): Term => [spacedName(name), count]);
  const unsettled = Object.entries({ failed, ...(cancelled > 0 && { cancelled }) });
  const parts = [...(settled.length > 0 ? settled : Object.entries({ done, held })), ...unsettled];
  return equation([total === 1 ? job.units.one : job.units.many, total], parts);
}

function partsOf({ counts: described }: Pick<JobDescription, 'counts'>, counts: Counts): readonly Term[] {
  return described.filter(({ inSum }) => inSum === 'part').map(({ name }) => [name, counts[name] ?? 0]);
}

function equation(whole: Term, parts: readonly Term[]): Balance {
  const balanced = whole[1] === parts.reduce((sum, [, count]) => sum + count, 0);
  const [left, ...right] = [whole, ...parts].map(([name, count]) => `${count} ${name}`);
  return { balanced, statement: `${left} ${balanced ? '=' : '≠'} ${right.join(' + ')}` };
}
