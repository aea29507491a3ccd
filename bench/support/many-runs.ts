/** Fills the ledger of a DuckDB warehouse with many runs at once, as a long-lived one has them. */
import { DuckDBInstance } from '@duckdb/node-api';

export const manyRunsStartMs = Date.parse('2024-03-01T00:00:00Z');
export const unitsInChunk = 100;

/** The id of a run by its number; every second one has ended, from 0 on. */
export function manyRunsId(run: number): string {
  return `20240301-000000-${String(run).padStart(6, '0')}`;
}

/** About 14 KB, as of a run with a hundred failures. */
const report = (units: number): string =>
  JSON.stringify({
    units: { total: units, done: units, held: 0, failed: 0, cancelled: 0 },
    counts: { read: units, inserted: units, updated: 0, unchanged: 0, removed: 0 },
    balance: { balanced: true, statement: `${units} read = ${units} inserted` },
    failures: Array.from({ length: 100 }, (_, well) => ({
      target: `NO 15/9-F-${well}`,
      state: 'failed',
      code: 'not-found',
      message: 'the service does not know the well',
      hint: 'See whether its name is written as the service writes it.',
    })),
    notices: [],
  });

/**
 * Adds `runs` runs with `units` units each to a file that has its schema and that nobody has open: half of them ended,
 * half open; and one without a plan, of `units` targets.
 */
export async function addManyRuns(path: string, runs: number, units: number): Promise<void> {
  const instance = await DuckDBInstance.create(path, { memory_limit: '1GB' });
  const connection = await instance.connect();
  const id = `'20240301-000000-' || lpad(run::VARCHAR, 6, '0')`;
  const requestedAt = `make_timestamptz(${manyRunsStartMs}000 + run * 1000)`;
  const statements = [
    `SET TimeZone = 'UTC'`,
    `INSERT INTO run (run_id, job, params, state, round, unit_count, requested_at, started_at, finished_at, report, settled,
       service, actor, target_count)
     SELECT ${id}, 'export daily-production', '{"nowMs":1,"allowShrink":false}', if(isEnded, 'done', 'running'), 0, ${units},
       ${requestedAt}, ${requestedAt}, if(isEnded, ${requestedAt}, NULL), if(isEnded, report, NULL),
       if(isEnded, json_object('units', report->'$.units', 'counts', report->'$.counts'), NULL), 'https://service.example',
       'tester@host', ${units}
     FROM (SELECT run, run % 2 = 0 AS isEnded, '${report(units)}'::JSON AS report FROM range(${runs}) t(run))`,
    `INSERT INTO run_unit (run_id, unit, chunk, target, spec, state, counts)
     SELECT ${id}, unit, unit // ${unitsInChunk}, 'NO 15/9-F-' || unit,
       '{"fromMs":1709251200000,"toMs":1709337600000,"mode":"incremental","lookback":{"days":7}}',
       if(run % 2 = 0, 'done', 'open'), if(run % 2 = 0, '{"read":7,"inserted":7}', NULL)
     FROM range(${runs}) t(run), range(${units}) u(unit) ORDER BY run, unit`,
    `INSERT INTO run (run_id, job, params, state, round, requested_at, service, actor, target_count)
     VALUES ('waiting', 'export wells', '{"allowShrink":false}', 'queued', 0, make_timestamptz(${manyRunsStartMs}000), 'https://service.example',
       'tester@host', ${units})`,
    `INSERT INTO run_target SELECT 'waiting', well, 'NO 15/9-F-' || well FROM range(${units}) t(well)`,
    'CHECKPOINT',
  ];
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}
