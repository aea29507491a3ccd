/**
 * Judges a storm by what it left: each guarantee of docs/guarantees.md, from the log of the service and the tables alone, with
 * none of wellsync's code. What cannot be promised is allowed, and nothing else.
 */
import type { Evidence, Violation } from '../evidence.ts';
import { checkAlerts } from './alerts.ts';
import { compareRows } from './daily-rows.ts';
import { checkDefinitions } from './definitions.ts';
import { checkDeletions } from './deletions.ts';
import { checkHistory } from './history.ts';
import { checkFeed, checkFence, checkIdentity, checkLeftovers } from './identity.ts';
import { ledgerOf } from './ledger.ts';
import { checkLanded } from './landed.ts';
import { checkLimits } from './limits.ts';
import { checkPauses } from './pauses.ts';
import { checkPushes } from './pushes.ts';
import { type CheckRules, rulesOf } from './rules.ts';
import { checkRuns } from './runs.ts';
import { checkSecrets } from './secrets.ts';
import { checkShrink } from './shrink.ts';
import { checkSums } from './sums.ts';
import { checkVersions } from './versions.ts';
import { checkWatermarks } from './watermarks.ts';

export interface Judgement {
  /** By guarantee. */
  readonly violations: readonly Violation[];
  /** How much was compared. */
  readonly compared: {
    readonly rows: number;
    readonly cells: number;
    /** Records, each by each read that had to store it. */
    readonly landed: number;
    readonly pushes: number;
    readonly pipes: number;
  };
}

/** Judges a storm. `given` replaces numbers of {@link rulesOf}. */
export function judge(evidence: Evidence, given: Partial<CheckRules> = {}): Judgement {
  const rules = rulesOf(evidence, given);
  const ledger = ledgerOf(evidence);
  const [days, landed, pushes] = [
    compareRows(evidence, ledger, rules),
    checkLanded(evidence, ledger, rules),
    checkPushes(evidence, ledger, rules),
  ];
  const violations = [
    ...days.violations,
    ...checkHistory(evidence, ledger, rules),
    ...landed.violations,
    ...checkDefinitions(evidence, ledger, rules),
    ...checkVersions(evidence, ledger),
    ...checkSums(evidence, ledger, rules),
    ...checkWatermarks(evidence, ledger),
    ...checkShrink(evidence, ledger, rules),
    ...pushes.violations,
    ...checkDeletions(evidence, ledger, rules),
    ...checkRuns(evidence, ledger, rules),
    ...checkPauses(evidence, ledger, rules),
    ...checkLimits(evidence, rules),
    ...checkSecrets(evidence),
    ...checkIdentity(evidence),
    ...checkFence(evidence, rules),
    ...checkAlerts(evidence, rules),
    ...checkFeed(evidence),
    ...checkLeftovers(evidence),
  ].toSorted((left, right) => left.guarantee.localeCompare(right.guarantee, 'en', { numeric: true }));
  const { rows, cells } = days;
  return { violations, compared: { rows, cells, landed: landed.records, pushes: pushes.pushes, pipes: pushes.pipes } };
}
