/**
 * The job that reads wells into the warehouse, with bodies of any form. The stored body of a well that the service
 * does not know is unchanged (G4).
 */
import type { WellReading } from '../../src/warehouse/port/definitions.ts';
import type { Job } from '../../src/runs/job.ts';
import { wells } from './description.ts';
import { createDefinitionJob, type DefinitionParams, type DefinitionSettings } from './job.ts';

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
