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
import { checkFeed, checkIdentity, checkLeftovers } from './identity.ts';
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

/** All violations of a storm, by guarantee. `given` replaces numbers of {@link rulesOf}. */
export function check(evidence: Evidence, given: Partial<CheckRules> = {}): readonly Violation[] {
  const rules = rulesOf(evidence, given);
  const ledger = ledgerOf(evidence);
  return [
    ...compareRows(evidence, ledger, rules).violations,
    ...checkHistory(evidence, ledger, rules),
    ...checkLanded(evidence, ledger, rules).violations,
    ...checkDefinitions(evidence, ledger, rules),
    ...checkVersions(evidence, ledger),
    ...checkSums(evidence, ledger),
    ...checkWatermarks(evidence, ledger),
    ...checkShrink(evidence, ledger, rules),
    ...checkPushes(evidence, ledger, rules).violations,
    ...checkDeletions(evidence, ledger, rules),
    ...checkRuns(evidence, ledger, rules),
    ...checkPauses(evidence, ledger, rules),
    ...checkLimits(evidence, rules),
    ...checkSecrets(evidence),
    ...checkIdentity(evidence),
    ...checkAlerts(evidence, rules),
    ...checkFeed(evidence),
    ...checkLeftovers(evidence),
  ].toSorted((left, right) => left.guarantee.localeCompare(right.guarantee, 'en', { numeric: true }));
}
