/** The job that reads the time series definitions of equipment into the warehouse. */
import { type CountDescription, isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import { unknownFault } from '../../src/core/run/unknown-targets.ts';
import type { Job } from '../../src/runs/job.ts';
import type { TimeSeriesReading, WellReading } from '../../src/warehouse/port/definitions.ts';
import { newlyUnknown, readingUnits, releaseSteps, removedUnapproved, rowsOfTargets } from '../exports.ts';
import { createDefinitionJob, type DefinitionParams, type DefinitionSettings } from './job.ts';

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

export const timeSeriesJobName = timeSeries.name;

/** Approximate size of a record with its five texts. */
const recordBytes = 500;

export function createTimeSeriesJob(settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<TimeSeriesReading>(
    {
      description: timeSeries,
      reads: 'equipment',
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, records: await service.fetchTimeSeries(target, { signal }) };
      },
      records: ({ records }) => records.length,
      weigh: ({ records }) => recordBytes * (1 + records.length),
      storeOf: (warehouse) => warehouse.timeSeries,
    },
    settings,
  );
}

/**
 * The job that reads wells into the warehouse, with bodies of any form. The stored body of a well that the service
 * does not know is unchanged (G4).
 */
export const wellsJobName = wells.name;

export function createWellsJob(settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<WellReading>(
    {
      description: wells,
      reads: 'well',
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, well: await service.fetchWell(target, { signal }) };
      },
      records: () => 1,
      // The body exists as text, as JSON in the statement, and again in the document.
      weigh: ({ well }) => 6 * well.body.length,
      storeOf: (warehouse) => warehouse.wells,
    },
    settings,
  );
}
