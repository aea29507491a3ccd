/** The job that pulls the time series definitions of equipment into the warehouse. */
import type { TimeSeriesReading } from '../src/warehouse/definitions.ts';
import type { Job } from '../src/runs/job.ts';
import { createDefinitionJob, type DefinitionParams, type DefinitionSettings } from './definitions.ts';

export const timeSeriesJobName = 'export time-series';

/** A record with its five texts, roughly. */
const recordBytes = 500;

export function createTimeSeriesJob(settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<TimeSeriesReading>(
    {
      name: timeSeriesJobName,
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, records: await service.fetchTimeSeries(target, { signal }) };
      },
      weigh: ({ records }) => recordBytes * (1 + records.length),
      commitWith: ({ warehouse }) => warehouse.timeSeries.commit,
    },
    settings,
  );
}
