/** The job that reads the time series definitions of equipment into the warehouse. */
import type { TimeSeriesReading } from '../../src/warehouse/port/definitions.ts';
import type { Job } from '../../src/runs/job.ts';
import { timeSeries } from './description.ts';
import { createDefinitionJob, type DefinitionParams, type DefinitionSettings } from './job.ts';

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
