/** What a request for a run would do, for whoever is to confirm it. Starts nothing. */
import { dailyProductionJobName, gapsJobName } from '../../../jobs/daily-production/job.ts';
import type { App } from '../app.ts';
import { definitionExports } from '../exports/definitions.ts';
import { jobTitle, scopeText } from './run-scope.ts';
import type { JobRequest } from './start-run.ts';

export interface RequestPreview {
  readonly job: string;
  readonly title: string;
  /** As the run says it. */
  readonly covers: string;
  /** Distinct ones. */
  readonly targets: number;
  /** Those of them that the warehouse has nothing of: a new well, or a name that is wrong. */
  readonly neverRead: number;
  readonly firstNeverRead: readonly string[];
  /** Names that are lists: split at commas or semicolons, every part of them is known. */
  readonly lists: ReadonlyArray<{ readonly name: string; readonly parts: readonly string[] }>;
}

const mostNamed = 3;

const mostFirst = 10;

export async function previewRequest(app: App, { job, params, targets = [] }: JobRequest): Promise<RequestPreview> {
  const distinct = [...new Set(targets)];
  const known = new Set(await knownOf(app, job));
  const neverRead = distinct.filter((name) => !known.has(name));
  const namedTargets = distinct.length <= mostNamed ? distinct : [];
  const run = { job, params, targetCount: distinct.length, unitCount: undefined, namedTargets };
  return {
    job,
    title: jobTitle(job),
    covers: scopeText(run, app.config.timeZone),
    targets: distinct.length,
    neverRead: neverRead.length,
    firstNeverRead: neverRead.slice(0, mostFirst),
    lists: neverRead.flatMap((name) => {
      const parts = name
        .split(/[,;]/)
        .map((part) => part.trim())
        .filter((part) => part !== '');
      return parts.length > 0 && parts.every((part) => known.has(part)) ? [{ name, parts }] : [];
    }),
  };
}

async function knownOf(app: App, job: string): Promise<readonly string[]> {
  if (job === dailyProductionJobName || job === gapsJobName) {
    return (await app.warehouse.isStored()) ? app.warehouse.dailyProduction.uwis() : [];
  }
  return (await definitionExports.find((each) => each.job === job)?.known(app)) ?? [];
}
