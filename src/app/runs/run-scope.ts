/** What a run covers, in words: the same text in a title, a list, a tab of the browser and on a terminal. Pure. */
import { z } from 'zod';
import { dailyProduction, dailyProductionGaps } from '../../../jobs/daily-production/settings.ts';
import { verification } from '../../../jobs/verification/windows.ts';
import { recordLists } from '../../core/definitions/record-list.ts';
import { counted, listed, spacedName } from '../../core/base/text.ts';
import type { RunSummary } from '../../core/run/run.ts';
import { beginOfDayAt, productionCalendar } from '../../core/time/production-day.ts';

/** Parameters that the words know, of whatever job; what another version wrote is left out. */
const knownParams = z
  .looseObject({
    nowMs: z.number().optional(),
    fromMs: z.number().optional(),
    toMs: z.number().optional(),
    lookbackDays: z.number().optional(),
    releaseOf: z.string().optional(),
    isWhole: z.boolean().optional(),
    sample: z.looseObject({ wells: z.number(), of: z.number() }).optional(),
    name: z.string().optional(),
    corrects: z.looseObject({ runId: z.string() }).optional(),
    planId: z.string().optional(),
    selection: z.string().optional(),
  })
  .catch({});

type ScopedRun = Pick<RunSummary, 'job' | 'params' | 'targetCount' | 'unitCount' | 'namedTargets'>;

/** `Daily production`, for the name of a job. */
export function jobTitle(job: string): string {
  const [, verb = '', what = ''] = /^(?:(export|push|verify) )?(.+)$/.exec(job) ?? [];
  const words = what.replaceAll('-', ' ');
  const titles: Readonly<Record<string, string>> = { push: `push of ${words}`, verify: `verification of ${words}` };
  const title = job === dailyProductionGaps.name ? 'gaps of daily production' : (titles[verb] ?? words);
  return title.replace(/^./, (letter) => letter.toUpperCase());
}

/** Whether the targets of a job are wells by their uwi, each of which has a page. */
export function hasWellPages(job: string): boolean {
  return [dailyProduction.name, dailyProductionGaps.name, verification.name].includes(job);
}

/** `15/9-F-12, 2014-02-07`, `312 wells, incremental`, `pipes.csv`. Days are those of the zone. */
export function scopeText(run: ScopedRun, timeZone: string): string {
  const params = knownParams.parse(run.params ?? {});
  const { name, corrects, planId, selection, sample } = params;
  if (name !== undefined) return corrects === undefined ? name : `${name}, corrected rows`;
  if (selection !== undefined) return `selection ${selection}`;
  // The name of a target has several parts: of more than one it is no title.
  const ofPlan = run.namedTargets.length > 1 ? { ...run, namedTargets: [] } : run;
  if (planId !== undefined) return `${targetsText(ofPlan, 'target', 'targets')} of plan ${planId}`;
  const who = targetsText(run, ...nounsOf(run.job));
  const some = sample === undefined ? who : `${who} of ${sample.of}`;
  const what = whatText(run.job, params, timeZone);
  return what === undefined ? some : `${some}, ${what}`;
}

function nounsOf(job: string): readonly [one: string, many: string] {
  const list = recordLists.find(({ name }) => job === `export ${name}`);
  return list === undefined ? ['well', 'wells'] : [list.targets.one, list.targets.many];
}

function targetsText({ targetCount, unitCount, namedTargets }: ScopedRun, one: string, many: string): string {
  const count = targetCount ?? unitCount;
  if (count === undefined) return many;
  return count > 0 && namedTargets.length === count ? listed(namedTargets) : counted(count, one, many);
}

function whatText(job: string, params: z.output<typeof knownParams>, timeZone: string): string | undefined {
  if (params.releaseOf !== undefined) return `held rows of run ${params.releaseOf}`;
  const days = daysText(params, timeZone);
  if (days !== undefined) return days;
  if (params.isWhole === true) return 'whole history';
  if (job === verification.name) return 'the last days';
  if (job === dailyProductionGaps.name) return 'all gaps';
  if (params.nowMs === undefined) return undefined;
  return params.lookbackDays === undefined
    ? 'incremental'
    : `incremental, ${counted(params.lookbackDays, 'day')} read again`;
}

/** `2014-02-07`, `2014-02-07 to 2014-02-09`; undefined without bounds. The last day is in it. */
function daysText(
  { fromMs, toMs }: { readonly fromMs?: number | undefined; readonly toMs?: number | undefined },
  timeZone: string,
): string | undefined {
  const first = fromMs === undefined ? undefined : boundText(fromMs, timeZone);
  const last = toMs === undefined ? undefined : lastText(toMs, timeZone);
  if (first === undefined) return last === undefined ? undefined : `up to ${last}`;
  if (last === undefined) return `from ${first}`;
  return first === last ? first : `${first} to ${last}`;
}

/** A bound that is no begin of a day is an instant. */
function boundText(ms: number, timeZone: string): string {
  if (beginOfDayAt(ms, timeZone) !== ms)
    return new Date(ms).toISOString().slice(0, 16).replace('T', ' ').concat(' UTC');
  return productionCalendar(timeZone).dayOf(ms) ?? new Date(ms).toISOString();
}

function lastText(toMs: number, timeZone: string): string {
  return beginOfDayAt(toMs, timeZone) === toMs
    ? boundText(beginOfDayAt(toMs - 1, timeZone), timeZone)
    : boundText(toMs, timeZone);
}

// The parameters of a run, one a line.

const names: Readonly<Record<string, string>> = {
  nowMs: 'asked at',
  fromMs: 'from',
  toMs: 'before',
  lookbackDays: 'days read again at least',
  allowShrink: 'rows may leave the warehouse',
  source: 'where the wells are from',
  releaseOf: 'releases held rows of run',
  isWhole: 'whole history',
  isAgain: 'pushed again',
  chunkItems: 'pipes in a request',
};

/** Names and values of parameters: instants as times, lists by their number of items, nested ones in turn. */
export function parametersInWords(params: unknown, path = ''): ReadonlyArray<readonly [name: string, value: string]> {
  if (typeof params !== 'object' || params === null) return [];
  return Object.entries(params).flatMap(([key, value]): ReadonlyArray<readonly [string, string]> => {
    const name = `${path}${names[key] ?? spacedName(key.replace(/(?<=.)Ms$/, ''))}`;
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return parametersInWords(value, `${name}, `);
    return [[name, valueText(key, value)]];
  });
}

function valueText(key: string, value: unknown): string {
  if (typeof value === 'number') return key.endsWith('Ms') ? new Date(value).toISOString() : String(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((each) => valueText('', each)).join(', ');
  return value === null ? 'none' : JSON.stringify(value);
}
