/** JSON of coverage: how complete daily production is, over which days. */
import type { CoverageSurvey, MonthCoverage } from '../../warehouse/port/coverage.ts';

export type { CoverageSurvey, MonthCoverage };

/** The days of a survey; `from` is null for the first known day of each well. */
export interface CoverageFrame {
  readonly timeZone: string;
  readonly from: string | null;
  /** A day, exclusive. */
  readonly to: string;
}

/** The totals of all wells. */
export type CoverageTotals = Awaited<ReturnType<CoverageSurvey['totals']>>;

/** The totals of all wells, and their months. */
export async function coverageDocument(frame: CoverageFrame, survey: CoverageSurvey) {
  const { wells, emptyWells, wellsWithHoles, ...days } = await survey.totals();
  return { ...frame, wells, emptyWells, wellsWithHoles, days, months: await survey.months() };
}
