/** Windows of daily production as a worker has read them, for benchmarks of commits. */
import type { WindowBatch } from '../../src/core/daily/merge.ts';
import { RowColumnsBuilder } from '../../src/core/daily/row-columns.ts';
import { measureFields, type DailyProductionRow, type Measure } from '../../src/core/daily/row.ts';
import { DAY_MS } from '../../src/core/time/window.ts';

export const daysPerWell = 1_000;
const firstDayMs = Date.parse('2020-01-01T00:00:00Z');
const window = { fromMs: firstDayMs, toMs: firstDayMs + daysPerWell * DAY_MS };
const readDays = { fromDay: firstDayMs / DAY_MS, toDay: firstDayMs / DAY_MS + daysPerWell };

/** What is added to every measure of a day. */
export type RowChange = (day: number) => number;

export const noChange: RowChange = () => 0;

/** A window of each well of a batch; their units count over all batches. */
export function windowsOf(batch: number, wellsPerBatch: number, change: RowChange): readonly WindowBatch[] {
  return Array.from({ length: wellsPerBatch }, (_, place) => {
    const unit = batch * wellsPerBatch + place;
    const rows = new RowColumnsBuilder();
    for (let day = 0; day < daysPerWell; day += 1) rows.putRow(rows.next, rowOf(unit, day, change(day)));
    const counts = { read: daysPerWell, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 1 };
    const mode = 'incremental';
    return {
      unit,
      uwi: `NO 15/9-F-${unit}`,
      window,
      timeZone: 'UTC',
      mode,
      isVerified: true,
      readDays,
      rows: rows.rows(),
      quarantined: [],
      counts,
      notices: [],
    };
  });
}

/** Measures of a declining well with some noise. Every third field is null, since a well has one kind of lift. */
function rowOf(well: number, day: number, change: number): DailyProductionRow {
  const decline = Math.exp(-day / 900);
  const measures = measureFields.map(({ kind, required }, index): Measure => {
    if (!required && index % 3 === 0) return null;
    if (kind === 'boolean') return day % 2 === 0;
    if (kind === 'string') return day % 9 === 0 ? 'PLANNED' : null;
    const value = (1 + index) * 100 * decline * (1 + 0.05 * Math.sin(day * (index + 1) + well)) + change;
    return kind === 'int32' ? Math.round(value) : Math.round(value * 1000) / 1000;
  });
  const instantMs = firstDayMs + day * DAY_MS;
  return {
    xid: `${String(well).padStart(8, '0')}-0000-4000-8000-${String(day).padStart(12, '0')}`,
    instantMs,
    day: instantMs / DAY_MS,
    measures,
    extras: null,
  };
}
