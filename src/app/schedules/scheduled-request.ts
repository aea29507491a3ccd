/** The run that a schedule asks for, as the commands make it. */
import path from 'node:path';
import { Readable } from 'node:stream';
import type { App } from '../app.ts';
import { selectionRun } from '../requests/cleanup-apply.ts';
import { requestDailyProduction } from '../requests/export-daily-production.ts';
import { requestTimeSeries, requestWells } from '../requests/export-definitions.ts';
import type { JobRequest } from '../start-run.ts';
import type { Schedule } from './schedule.ts';

/** Throws UsageError for names and files that cannot be used. A relative path begins at the folder of the configuration. */
export async function scheduledRequest(
  { definition }: Schedule,
  app: App,
  { requestedBy, nowMs }: { readonly requestedBy: string; readonly nowMs: number },
): Promise<JobRequest> {
  const stdin = Readable.from([]);
  const placed = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : path.resolve(app.config.folder, file);
  switch (definition.job) {
    case 'export daily-production': {
      const { wells: uwis, wellsFile, lookback: lookbackDays, ...flags } = definition.parameters;
      const input = { ...flags, uwis, wellsFile: placed(wellsFile), lookbackDays };
      const { job, params, targets } = await requestDailyProduction(app, input, { stdin, nowMs });
      return { job, params, targets };
    }
    case 'export time-series': {
      const { equipment: names, file, ...flags } = definition.parameters;
      const { job, params, targets } = await requestTimeSeries(app, { ...flags, names, file: placed(file) }, { stdin });
      return { job, params, targets };
    }
    case 'export wells': {
      const { wells: names, file, ...flags } = definition.parameters;
      const { job, params, targets } = await requestWells(app, { ...flags, names, file: placed(file) }, { stdin });
      return { job, params, targets };
    }
    case 'cleanup':
      return selectionRun(definition.parameters.selection, requestedBy, app);
  }
}
