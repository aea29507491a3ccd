/** Requests for the findings of checks, and the evaluation of what stands. */
import { UsageError } from '../../core/base/errors.ts';
import { checkZone } from '../../core/daily/zones.ts';
import type { CheckSummary } from '../../core/checks/check-alert.ts';
import type { FindingFilter, FindingRow } from '../../warehouse/port/wells.ts';
import type { App } from '../app.ts';
import { wellChecksOf } from '../job-settings.ts';
import { refuseUnknownWells } from '../runs/search.ts';

export type { CheckSummary, FindingRow };

/** Wells of one transaction: others may commit between two. */
const wellsAtOnce = 10;

export interface Checked {
  readonly wells: number;
  readonly days: number;
  readonly findings: number;
}

/**
 * Evaluates all days of the named wells, or of all; stops between two transactions when the signal aborts, and returns what was
 * done. Throws UsageError if no check is made, if the warehouse belongs to another service than the configured one (G11) or
 * its rows are dated by another zone, and with the wells that it does not know.
 */
export async function runChecks(
  app: App,
  {
    uwis,
    by,
    signal,
    onStep,
  }: {
    readonly uwis?: readonly string[] | undefined;
    /** The person, for the alerts. */
    readonly by: string;
    readonly signal?: AbortSignal;
    readonly onStep?: (wells: number, of: number) => void;
  },
): Promise<Checked> {
  const checks = wellChecksOf(app.config);
  if (checks === undefined) {
    throw new UsageError('no check is made: the configuration turns all of them off', {
      hint: 'Set checks.enabled, or name fewer in checks.off.',
    });
  }
  if (app.config.service.url !== undefined) await app.checkService();
  await refuseUnknownWells(app, uwis);
  const wells = await app.warehouse.checks.wells({ uwis, limit: mostWells });
  let done: Checked = { wells: 0, days: 0, findings: 0 };
  for (let from = 0; from < wells.length; from += wellsAtOnce) {
    if (signal?.aborted === true) break;
    // Days, and the hours that they have, are those of the zone; a rezone may have begun meanwhile.
    checkZone(await app.warehouse.zones.read(), app.config.timeZone);
    const part = wells.slice(from, from + wellsAtOnce);
    const { days, findings } = await app.warehouse.checks.evaluate(part, checks, by);
    done = { wells: done.wells + part.length, days: done.days + days, findings: done.findings + findings };
    onStep?.(done.wells, wells.length);
  }
  return done;
}

/** Names alone: a million of them take 100 MB. */
const mostWells = 10_000_000;

/** What stands by check and well, the most findings first. */
export function listFindings({ warehouse }: App, filter: FindingFilter): Promise<readonly CheckSummary[]> {
  return warehouse.checks.summaries(filter);
}

/** What stands by day, at most `limit`. */
export function showFindings(
  { warehouse }: App,
  filter: FindingFilter & { readonly limit: number },
): Promise<readonly FindingRow[]> {
  return warehouse.checks.findings(filter);
}
