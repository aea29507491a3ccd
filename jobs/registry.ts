/** The list of the jobs that wellsync knows. */
import type { PipeFiles } from '../src/pipes/pipe-files.ts';
import type { AnyJob } from '../src/runs/job.ts';
import { anyJob } from '../src/runs/job.ts';
import { createDailyProductionJob, type DailyProductionSettings } from './daily-production.ts';
import { createNetworkPipesJob, type NetworkPipesSettings } from './network-pipes.ts';

export function createJobs(
  settings: { readonly dailyProduction: DailyProductionSettings; readonly networkPipes: NetworkPipesSettings },
  files: PipeFiles,
): readonly AnyJob[] {
  return [
    anyJob(createDailyProductionJob(settings.dailyProduction)),
    anyJob(createNetworkPipesJob(settings.networkPipes, files)),
  ];
}
