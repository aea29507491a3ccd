/**
 * A real field under corrections: Volve with 5 days missing at the source, then 100 values changed and 20 rows removed.
 * Compares restatements and coverage with these changes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName, gapsJobName } from '../../../jobs/daily-production/job.ts';
import { dayNumber } from '../../../src/core/time/production-day.ts';
import { restatementsOf } from '../../../src/core/daily/row.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { loadDailyFile } from '../../../src/testing-server/data/daily-source.ts';
import { deriveXid } from '../../../src/testing-server/data/rows.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { allOf, ask } from '../../support/warehouse-batches.ts';

const file = '../shared/data/volve_daily_production.ndjson';

const lack = existsSync(file) ? undefined : 'the Volve data is not beside this checkout (../shared/data)';

interface Row {
  readonly uwi: string;
  readonly date: string;
  readonly oilRate: number;
}

const jobs = createDailyProductionJobs(dailyProductionSettings).map(anyJob);
const [first, second, third] = ['2016-12-02', '2016-12-03', '2016-12-04'].map((day) =>
  Date.parse(`${day}T04:00:00Z`),
) as [number, number, number];
const toDay = dayNumber('2016-12-02');
const dayOfRow = ({ date }: Row): string => date.slice(0, 10);
const removal = ({ uwi, date }: Row): string => JSON.stringify({ uwi, remove: deriveXid(uwi, date) });

describe('Volve, restated', () => {
  test('G2: restatements list the 100 values and the 20 rows, coverage lists the days, and --gaps fetches the late ones', async ({
    skip,
  }) => {
    skip(lack !== undefined, lack);
    const rows = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    // Spread over the field; never the last day of a well, so that missing days lie between present ones.
    const inner = rows.filter((row, index) => rows[index + 1]?.uwi === row.uwi && rows[index - 1]?.uwi === row.uwi);
    const picked = Array.from({ length: 125 }, (_, index) => inner[index * 120 + 7] as Row);
    const nth = (from: number, to: number) => picked.filter((_, index) => index % 25 >= from && index % 25 < to);
    const [missing, removed, changed] = [nth(0, 1), nth(1, 5), nth(5, 25)];
    await using server = await startTestingServer({ data: await loadDailyFile(file) });
    await using engine = await engineHere(server.url, jobs);
    const { warehouse } = engine;
    const uwis = [...new Set(rows.map(({ uwi }) => uwi))];
    const run = async (job: string, nowMs: number, bounds: object = {}) => {
      engine.nowMs = nowMs;
      return engine.run(job, { nowMs, allowShrink: false, ...bounds }, uwis);
    };
    const coverage = () => warehouse.coverage.survey({ toDay }, (survey) => survey.totals());
    const oilKnownAt = async (ms: number): Promise<number> => {
      const [[sum] = []] = await ask(
        warehouse,
        `SELECT round(sum(oil_rate), 3) FROM daily_production_as_known('${new Date(ms).toISOString()}')`,
      );
      return Number(sum);
    };

    server.state.changeDaily(missing.map(removal).join('\n'));
    expect(await run(dailyProductionJobName, first)).toMatchObject({ state: 'done', counts: { inserted: 15_629 } });
    const before = await coverage();
    expect(before).toMatchObject({ wells: 7, present: 15_629, quarantined: 0, neverRead: 0 });
    expect(before.missing - before.missingAfterLast).toBe(holesIn(rows) + 5);
    const reportedAtMs = Date.now();
    const reported = await oilKnownAt(reportedAtMs);

    const corrections = changed.map((row) => ({ ...row, oilRate: row.oilRate + 1 }));
    server.state.changeDaily([...removed.map(removal), ...corrections.map((row) => JSON.stringify(row))].join('\n'));
    const restating = await run(dailyProductionJobName, second, { fromMs: Date.parse('2000-01-01T00:00:00Z') });
    expect(restating).toMatchObject({ state: 'done', counts: { updated: 100, removed: 20, inserted: 0 } });

    const question = { sinceMs: reportedAtMs, untilMs: Date.now() + 60_000 };
    const told = (await warehouse.dailyProduction.restatements(question, allOf)).flatMap(restatementsOf);
    const said = (change: string): readonly string[] =>
      told
        .filter((line) => line.change === change)
        .map((line) => `${line.uwi} ${line.day} ${line.field} ${line.old} ${line.new}`)
        .toSorted((left, right) => left.localeCompare(right));
    const done = (lines: readonly string[]) => lines.toSorted((left, right) => left.localeCompare(right));
    expect(said('updated')).toEqual(
      done(changed.map((row) => `${row.uwi} ${dayOfRow(row)} oil_rate ${row.oilRate} ${row.oilRate + 1}`)),
    );
    expect(said('removed')).toEqual(done(removed.map((row) => `${row.uwi} ${dayOfRow(row)} null null null`)));
    const lost = { present: before.present - 20, missing: before.missing + 20, wellsWithHoles: before.wells };
    expect(await coverage()).toEqual({ ...before, ...lost });
    expect(await oilKnownAt(reportedAtMs)).toBe(reported);
    expect(await oilKnownAt(Date.now() + 60_000)).toBeCloseTo(reported + 100 - oilOf(removed), 2);

    server.state.changeDaily([...missing, ...removed].map((row) => JSON.stringify(row)).join('\n'));
    const filling = await run(gapsJobName, third);
    expect(filling).toMatchObject({ state: 'done', counts: { inserted: 25, updated: 0, removed: 0 } });
    expect(filling.counts['read']).toBeLessThan(3_000);
    const after = await coverage();
    expect(after.missing - after.missingAfterLast).toBe(holesIn(rows));
  });
});

function oilOf(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + row.oilRate, 0);
}

/** Days without a row between the first and the last of their well. */
function holesIn(rows: readonly Row[]): number {
  const byWell = new Map<string, number[]>();
  for (const row of rows) byWell.set(row.uwi, [...(byWell.get(row.uwi) ?? []), dayNumber(dayOfRow(row))]);
  return [...byWell.values()].reduce(
    (holes, days) => holes + Math.max(...days) - Math.min(...days) + 1 - new Set(days).size,
    0,
  );
}
