import { type CountDescription, isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import { unknownFault } from '../../src/core/run/unknown-targets.ts';
import { newlyUnknown, readingUnits, releaseSteps, removedUnapproved, rowsOfTargets } from '../export-description.ts';

/** read = inserted + updated + unchanged + repeated + outsideWindow + quarantined (G2). */
const counts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'inserted', inSum: 'part', isAlwaysShown: true },
  { name: 'updated', inSum: 'part', isAlwaysShown: true },
  { name: 'unchanged', inSum: 'part', isAlwaysShown: true },
  { name: 'repeated', inSum: 'part' },
  { name: 'outsideWindow', inSum: 'part', remark: 'dated outside the windows of their wells, ignored' },
  { name: 'quarantined', inSum: 'part', isException: true },
  { name: 'removed', isAlwaysShown: true },
  { name: 'defaulted', remark: 'a required number did not come: its documented default 0 was taken' },
  { name: 'heldRows', remark: 'they stay until they are released' },
  removedUnapproved,
  newlyUnknown,
  { name: 'stale', isOfUnits: true, remark: 'no new day for long (freshness.warnAfterDays)' },
  // Equal to the number of units.
  { name: 'windows', isHidden: true },
  ...rowsOfTargets,
  { name: 'rowsBefore', isHidden: true },
  { name: 'rowsAfter', isHidden: true },
  { name: 'rowsAdrift', isHidden: true },
];

const shared: Omit<JobDescription, 'name' | 'units'> = {
  record: 'record',
  counts,
  stock: { before: 'rowsBefore', added: 'inserted', removed: 'removed', after: 'rowsAfter', adrift: 'rowsAdrift' },
  failureOf: (report) => unknownFault(report, { one: 'well', many: 'wells' }),
  nextSteps: (report) => [
    ...releaseSteps(report),
    ...(isCounted(report.counts, 'quarantined') ? [{ kind: 'show-quarantine' } as const] : []),
    ...(isCounted(report.counts, 'newlyUnknown') ? [{ kind: 'show-unknown' } as const] : []),
    ...(isCounted(report.counts, 'stale') ? [{ kind: 'show-stale' } as const] : []),
  ],
};

export const dailyProduction: JobDescription = {
  ...shared,
  name: 'export daily-production',
  units: readingUnits('well', 'wells'),
};

/** Daily production over the days without data in the warehouse. */
export const dailyProductionGaps: JobDescription = {
  ...shared,
  name: 'export daily-production --gaps',
  units: readingUnits('window', 'windows'),
};
