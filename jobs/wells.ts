/** The job that pulls wells into the warehouse, whatever their shape. A well that the service does not know fails, and stays as it was (G4). */
import type { WellReading } from '../src/warehouse/definitions.ts';
import type { Job } from '../src/runs/job.ts';
import { createDefinitionJob, type DefinitionParams, type DefinitionSettings } from './definitions.ts';

export const wellsJobName = 'export wells';

export function createWellsJob(settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<WellReading>(
    {
      name: wellsJobName,
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, well: await service.fetchWell(target, { signal }) };
      },
      // As text, as JSON in the statement, and once more in the document.
      weigh: ({ well }) => 6 * well.body.length,
      commitWith: ({ warehouse }) => warehouse.wells.commit,
    },
    settings,
  );
}
