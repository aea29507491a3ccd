import { type CountDescription, isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import { unknownFault } from '../../src/core/run/unknown-targets.ts';
import { newlyUnknown, readingUnits, releaseSteps, removedUnapproved, rowsOfTargets } from '../export-description.ts';

/** read = inserted + updated + unchanged + repeated (G2). */
const counts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'inserted', inSum: 'part', isAlwaysShown: true },
  { name: 'updated', inSum: 'part', isAlwaysShown: true },
  { name: 'unchanged', inSum: 'part', isAlwaysShown: true },
  { name: 'repeated', inSum: 'part' },
  { name: 'removed', isAlwaysShown: true },
  { name: 'heldRows', remark: 'they stay until they are released' },
  removedUnapproved,
  newlyUnknown,
  ...rowsOfTargets,
];

export const timeSeries = descriptionOf('export time-series', 'equipment id', 'equipment ids');
export const wells = descriptionOf('export wells', 'well', 'wells');

function descriptionOf(name: string, one: string, many: string): JobDescription {
  return {
    name,
    units: readingUnits(one, many),
    record: 'record',
    counts,
    failureOf: (report) => unknownFault(report, { one, many }),
    nextSteps: (report) => [
      ...releaseSteps(report),
      ...(isCounted(report.counts, 'newlyUnknown') ? [{ kind: 'show-unknown-definitions' } as const] : []),
    ],
  };
}
