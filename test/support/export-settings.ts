/** The settings of the exports as tests use them: small chunks and batches, a short history. */
import type { DailyProductionSettings } from '../../jobs/daily-production/settings.ts';
import { checksOf } from './check-settings.ts';

export const dailyProductionSettings: DailyProductionSettings = {
  timeZone: 'UTC',
  rateBasis: 'calendar-day',
  historyFromMs: Date.parse('2000-01-01T00:00:00Z'),
  lookback: [{ days: 7 }],
  plugged: { uwis: new Set() },
  // The rows of tests are old.
  staleAfterDays: 36_525,
  lookbackByWell: new Map(),
  holeDays: 92,
  nullable: new Set(),
  shrink: { maxShare: 0.2, maxRows: 3, maxRowsPerRun: 100 },
  checks: checksOf(),
  remindAfterDays: 7,
  restated: { maxRows: 100 },
  chunkWells: 3,
  chunkRows: 100_000,
  batchRows: 1_000,
  rowsInMemory: 16_000,
  pageLimitGranted: false,
  pageLimit: 1_000,
  wellConcurrency: 4,
};
