/** Plain nightly runs at a service whose days become available one after the other. */
import { dailyProductionJobName } from '../../jobs/daily-production/job.ts';
import type { RunReport } from '../../src/core/run/run.ts';
import type { GivenRecord } from '../../src/testing-server/data/rows.ts';
import type { TestingServer } from '../../src/testing-server/testing-server.ts';
import type { EngineHere } from './engine-here.ts';
import { januaryRows, UWI } from './testing-server-requests.ts';
import { ask, dayOf } from './warehouse-batches.ts';

/** The rows of the days [from, to) of 2024, by number from 1. */
export function daysFrom(from: number, to: number, uwi = UWI): readonly GivenRecord[] {
  return januaryRows(to - 1, uwi).slice(from - 1);
}

export function deliver(server: TestingServer, rows: readonly GivenRecord[]): void {
  server.state.changeDaily(rows.map((row) => JSON.stringify(row)).join('\n'));
}

/** The plain run at four in the morning of a day of 2024. */
export async function nightly(engine: EngineHere, day: number, uwis: readonly string[] = [UWI]): Promise<RunReport> {
  engine.nowMs = Date.parse(`${dayOf(day)}T04:00:00Z`);
  return engine.run(dailyProductionJobName, { nowMs: engine.nowMs, allowShrink: false }, uwis);
}

export async function storedDays(engine: EngineHere, uwi = UWI): Promise<readonly unknown[]> {
  const days = `SELECT production_day FROM daily_production WHERE uwi = '${uwi}' ORDER BY production_day`;
  return (await ask(engine.warehouse, days)).map(([day]) => day);
}

/** The first days of 2024, YYYY-MM-DD. */
export function allDays(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => dayOf(index + 1));
}
