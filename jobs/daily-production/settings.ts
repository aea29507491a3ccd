/** Settings and parameters of the two jobs that export daily production. */
import { z } from 'zod';
import type { LookbackTier } from '../../src/core/daily/due-window.ts';
import type { RateBasis } from '../../src/core/daily/units.ts';
import type { NullableFields } from '../../src/core/daily/row.ts';
import { type CountDescription, isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import type { NextAction } from '../../src/core/base/action.ts';
import { counted } from '../../src/core/base/text.ts';
import { type RunReport, unknownFault } from '../../src/core/run/run.ts';
import type { WellChecks, WellField } from '../../src/warehouse/port/wells.ts';
import {
  newlyUnknown,
  readingUnits,
  releaseSteps,
  removedUnapproved,
  rowsOfTargets,
  type ShrinkSettings,
} from '../exports.ts';

/** Wells that deliver no more, by name or by a field of their body: they are never stale. */
export interface PluggedWells {
  readonly uwis: ReadonlySet<string>;
  /** The values of the field that mean plugged, in lower case. */
  readonly byField?: { readonly field: WellField; readonly values: ReadonlySet<string> } | undefined;
}

export interface DailyProductionSettings {
  /** Determines the calendar day of a row, unless its well has a time zone of its own. */
  readonly timeZone: string;
  /** The field of a well's body with its time zone; without it no well has one of its own. */
  readonly zoneField?: WellField | undefined;
  /** Kept in the warehouse, for the volumes of months. */
  readonly rateBasis: RateBasis;
  readonly plugged: PluggedWells;
  /** A well without a new day for so long is stale. */
  readonly staleAfterDays: number;
  readonly historyFromMs: number;
  readonly lookback: readonly LookbackTier[];
  /** The wells with a lookback of their own. */
  readonly lookbackByWell: ReadonlyMap<string, readonly LookbackTier[]>;
  /** Days before today in which missing and quarantined days are read again. */
  readonly holeDays: number;
  /** Required fields in which null is an unknown value, and no fault. */
  readonly nullable: NullableFields;
  readonly shrink: ShrinkSettings;
  /** What the rows of a commit are checked for; undefined where nothing is. */
  readonly checks?: WellChecks | undefined;
  /** A run that changes more rows of earlier months is told of by alerts (core/alerts/run-observations.ts). */
  readonly restated: { readonly maxRows: number };
  /** What is open for so long is told of again by runs without bounds. */
  readonly remindAfterDays: number;
  readonly chunkWells: number;
  readonly chunkRows: number;
  readonly batchRows: number;
  /** Limit of the rows that this process holds between service and warehouse, over all its chunks. */
  readonly rowsInMemory: number;
  readonly pageLimit: number;
  readonly pageLimitGranted: boolean;
  /** Wells of a chunk that are read concurrently. */
  readonly wellConcurrency: number;
}

/**
 * Instants in milliseconds; the wells are the targets of the run. A run with `fromMs` or `toMs` is a backfill;
 * otherwise every well continues at its watermark.
 */
export const dailyProductionParamsSchema = z.strictObject({
  nowMs: z.number().int(),
  fromMs: z.number().int().optional(),
  toMs: z.number().int().optional(),
  /** Deepens the configured lookback of an incremental run. */
  lookbackDays: z.number().int().nonnegative().optional(),
  allowShrink: z.boolean(),
  /** Where the wells of a run without bounds come from (core/alerts/run-observations.ts). */
  source: z.string().optional(),
  /** The run whose held rows this one releases: it reads their months, and nothing else. */
  releaseOf: z.string().optional(),
});
export type DailyProductionParams = z.output<typeof dailyProductionParamsSchema>;

/** read = inserted + updated + unchanged + repeated + outsideWindow + quarantined + accepted (G2). */
const counts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'inserted', inSum: 'part', isAlwaysShown: true },
  { name: 'updated', inSum: 'part', isAlwaysShown: true },
  { name: 'unchanged', inSum: 'part', isAlwaysShown: true },
  { name: 'repeated', inSum: 'part' },
  { name: 'outsideWindow', inSum: 'part', remark: 'they came, and are ignored' },
  { name: 'quarantined', inSum: 'part', isException: true, isByAlerts: true },
  { name: 'accepted', inSum: 'part', remark: 'broke the contract, and were accepted as they are' },
  { name: 'removed', isAlwaysShown: true },
  { name: 'defaulted', remark: 'a required number did not come: its documented default 0 was taken' },
  { name: 'heldRows', remark: 'they stay until they are released' },
  removedUnapproved,
  newlyUnknown,
  { name: 'stale', isOfUnits: true, remark: 'without a new day for long' },
  // Equal to the number of units.
  { name: 'windows', isHidden: true },
  ...rowsOfTargets,
  { name: 'rowsBefore', isHidden: true },
  { name: 'rowsAfter', isHidden: true },
  { name: 'rowsAdrift', isHidden: true },
];

const shared = {
  record: 'record',
  counts,
  stock: { before: 'rowsBefore', added: 'inserted', removed: 'removed', after: 'rowsAfter', adrift: 'rowsAdrift' },
  failureOf: (report: Pick<RunReport, 'units' | 'counts'>) => unknownFault(report, { one: 'well', many: 'wells' }),
  nextSteps: (report: RunReport): readonly NextAction[] => [
    ...releaseSteps(report),
    ...(isCounted(report.counts, 'quarantined') ? [{ kind: 'show-quarantine' } as const] : []),
    ...(isCounted(report.counts, 'newlyUnknown') ? [{ kind: 'show-unknown' } as const] : []),
    ...(isCounted(report.counts, 'stale') ? [{ kind: 'show-stale' } as const] : []),
  ],
} satisfies Partial<JobDescription>;

export const dailyProduction: JobDescription = {
  ...shared,
  name: 'export daily-production',
  units: readingUnits('well', 'wells'),
};

/** Daily production over the days without data in the warehouse. */
export const dailyProductionGaps: JobDescription = {
  ...shared,
  name: 'export daily-production --gaps',
  units: readingUnits('gap', 'gaps'),
  nextSteps: (report) => [{ kind: 'show-coverage' }, ...shared.nextSteps(report)],
  outcomeOf: ({ units: { total }, counts: { inserted = 0 } }) => {
    if (total === 0) return undefined;
    if (inserted > 0) return `${counted(inserted, 'row was', 'rows were')} inserted; the coverage shows what remains.`;
    const remains = total === 1 ? 'the gap remains' : `all ${counted(total, 'gap')} remain`;
    return `No row was inserted: ${remains}.`;
  },
};
