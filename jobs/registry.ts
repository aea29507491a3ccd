/** The list of the jobs that wellsync knows. */
import type { AnyJob } from '../src/runs/job.ts';
import { anyJob } from '../src/runs/job.ts';
import { createCleanupJob, type CleanupSettings } from './cleanup.ts';
import { createDailyProductionJob, type DailyProductionSettings } from './daily-production.ts';

export function createJobs(settings: {
  readonly dailyProduction: DailyProductionSettings;
  readonly cleanup: CleanupSettings;
}): readonly AnyJob[] {
  return [anyJob(createDailyProductionJob(settings.dailyProduction)), anyJob(createCleanupJob(settings.cleanup))];
}
