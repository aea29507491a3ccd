/** The list of the jobs that wellsync knows. */
import type { PipeFiles } from '../src/pipes/pipe-files.ts';
import { anyJob, type AnyJob } from '../src/runs/job.ts';
import { createCleanupJob, type CleanupSettings } from './cleanup.ts';
import { createDailyProductionJobs, type DailyProductionSettings } from './daily-production.ts';
import type { DefinitionSettings } from './definitions.ts';
import { createNetworkPipesJob, type NetworkPipesSettings } from './network-pipes.ts';
import { createTimeSeriesJob } from './time-series.ts';
import { createWellsJob } from './wells.ts';

export function createJobs(
  settings: {
    readonly dailyProduction: DailyProductionSettings;
    readonly definitions: DefinitionSettings;
    readonly networkPipes: NetworkPipesSettings;
    readonly cleanup: CleanupSettings;
  },
  files: PipeFiles,
): readonly AnyJob[] {
  return [
    ...createDailyProductionJobs(settings.dailyProduction).map(anyJob),
    anyJob(createTimeSeriesJob(settings.definitions)),
    anyJob(createWellsJob(settings.definitions)),
    anyJob(createNetworkPipesJob(settings.networkPipes, files)),
    anyJob(createCleanupJob(settings.cleanup)),
  ];
}
