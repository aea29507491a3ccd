/** The jobs of wellsync. */
import { recordLists } from '../src/core/definitions/record-list.ts';
import type { PipeFiles } from '../src/pipes/pipe-files.ts';
import { anyJob, type AnyJob } from '../src/runs/job.ts';
import { type CleanupSettings, createCleanupJob } from './cleanup/job.ts';
import { createDailyProductionJobs } from './daily-production/job.ts';
import { readingRoomOf } from './daily-production/row-budget.ts';
import type { DailyProductionSettings } from './daily-production/settings.ts';
import { createListJob, createWellsJob, type DefinitionSettings } from './definitions.ts';
import { createNetworkPipesJob, type NetworkPipesSettings } from './network-pipes/job.ts';
import { createVerificationJob } from './verification/job.ts';

export function createJobs(
  settings: {
    readonly dailyProduction: DailyProductionSettings;
    readonly definitions: DefinitionSettings;
    readonly networkPipes: NetworkPipesSettings;
    readonly cleanup: CleanupSettings;
  },
  files: PipeFiles,
): readonly AnyJob[] {
  const room = readingRoomOf(settings.dailyProduction);
  return [
    ...createDailyProductionJobs(settings.dailyProduction, room).map(anyJob),
    anyJob(createVerificationJob(settings.dailyProduction, room)),
    ...recordLists.map((list) => anyJob(createListJob(list, settings.definitions))),
    anyJob(createWellsJob(settings.definitions)),
    anyJob(createNetworkPipesJob(settings.networkPipes, files)),
    anyJob(createCleanupJob(settings.cleanup)),
  ];
}
