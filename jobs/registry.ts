/** The list of the jobs that wellsync knows. */
import type { AnyJob } from '../src/runs/job.ts';
import { anyJob } from '../src/runs/job.ts';
import { createDailyProductionJobs, type DailyProductionSettings } from './daily-production.ts';

export function createJobs(settings: { readonly dailyProduction: DailyProductionSettings }): readonly AnyJob[] {
  return createDailyProductionJobs(settings.dailyProduction).map(anyJob);
}
