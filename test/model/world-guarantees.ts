/** What holds in any world, by the number of its guarantee (docs/guarantees.md): each answer is a violation. */
import { isFinished, type RunReport, type RunState } from '../../src/core/run/run.ts';
import { token } from './memory-client.ts';
import type { Asked, World } from './world.ts';

export interface StoredRun {
  readonly runId: string;
  readonly state: RunState;
  readonly report: string | null;
}

export function storedRuns(asked: Asked): Promise<readonly StoredRun[]> {
  return asked.rows<StoredRun>('SELECT run_id AS "runId", state, report::VARCHAR AS report FROM run');
}

/** The report of a run that has ended; undefined for any other. */
export function reportOf({ state, report }: StoredRun): RunReport | undefined {
  return report === null || !isFinished(state) ? undefined : (JSON.parse(report) as RunReport);
}

/** G2, G7: a run that has ended has a report and no open unit. */
export async function unended(asked: Asked, runs: readonly StoredRun[]): Promise<readonly string[]> {
  const open = await asked.rows<{ runId: string }>(`SELECT run_id AS "runId" FROM run_unit WHERE state = 'open'`);
  return runs.flatMap(({ runId, state, report }) => {
    if (!isFinished(state)) return [];
    return [
      ...(open.some((unit) => unit.runId === runId) ? [`G7: ${runId} is ${state} with an open unit`] : []),
      ...(report === null ? [`G2: ${runId} is ${state} without a report`] : []),
    ];
  });
}

/** G10: asked once in the end, since it reads every text of the warehouse. */
export async function secretsAnywhere(world: World): Promise<readonly string[]> {
  const tables = await world.rows<{ name: string; texts: string }>(
    `SELECT schema_name || '.' || table_name AS name, string_agg('"' || column_name || '"::VARCHAR', ', ') AS texts
     FROM duckdb_columns() WHERE data_type IN ('VARCHAR', 'JSON') AND NOT internal GROUP BY ALL`,
  );
  const questions = tables.map(
    ({ name, texts }) => `SELECT '${name}' AS "table" FROM ${name} WHERE concat_ws(' ', ${texts}) LIKE '%${token}%'`,
  );
  const shown = await world.rows<{ table: string }>(questions.join(' UNION '));
  return shown.map(({ table }) => `G10: a row of ${table} shows the token`);
}

/** G10 */
export function* secretsIn(world: World, runs: readonly StoredRun[]): Generator<string> {
  if (world.refusals.some(({ message }) => message.includes(token))) yield 'G10: an error shows the token';
  if (world.log.some((line) => line.includes(token))) yield 'G10: a line of the log shows the token';
  if (runs.some(({ report }) => report?.includes(token) === true)) yield 'G10: a report shows the token';
  for (const queue of world.queues) {
    const items = JSON.stringify([...queue.items.values()].map(({ id, work, reason }) => [id, work, reason]));
    if (items.includes(token)) yield 'G10: a queue item shows the token';
  }
}

/** A fault of wellsync itself is logged with its stack. */
export function bugsIn({ log, refusals, trespasses }: World): readonly string[] {
  const refused = refusals.filter(({ name }) => ['TypeError', 'RangeError', 'Error'].includes(name));
  return [
    ...trespasses,
    ...log.filter((line) => line.includes('"err":{')),
    ...refused.map((error) => `a bug: ${error.stack}`),
  ];
}

/** What stands and needs a person has an alert, and no other has one; each change of an alert is kept once. */
export async function alertViolations(asked: Asked): Promise<readonly string[]> {
  const apart = await asked.rows<{ kind: string; owner: string; isOpen: boolean }>(
    `WITH stands AS (
       SELECT 'rows-held' AS kind, uwi AS owner FROM held_month UNION SELECT 'rows-held', target FROM held_definition
       UNION SELECT 'well-unknown', target FROM unknown_target UNION SELECT 'record-quarantined', uwi FROM quarantine q WHERE NOT EXISTS (
         SELECT 1 FROM accepted_record k WHERE k.uwi = q.uwi AND k.xid = coalesce(lower(q.xid), '')
           AND k.content_sha256 = sha256(q.raw))),
     open AS (
       SELECT DISTINCT kind, owner FROM alert
       WHERE state <> 'resolved' AND kind IN ('rows-held', 'well-unknown', 'record-quarantined'))
     SELECT coalesce(s.kind, o.kind) AS kind, coalesce(s.owner, o.owner) AS owner, o.owner IS NOT NULL AS "isOpen"
     FROM stands s FULL JOIN open o ON o.kind = s.kind AND o.owner = s.owner
     WHERE s.owner IS NULL OR o.owner IS NULL`,
  );
  const unkept = await asked.rows<{ target: string }>(
    `SELECT target FROM alert a WHERE change_no <> (SELECT count(*) FROM alert_change c WHERE c.alert_id = a.alert_id)`,
  );
  return [
    ...apart.map(
      ({ kind, owner, isOpen }) => `${kind} of ${owner} ${isOpen ? 'is open, and is not so' : 'is not told of'}`,
    ),
    ...unkept.map(({ target }) => `the changes of the alert of ${target} are not kept once each`),
  ];
}
