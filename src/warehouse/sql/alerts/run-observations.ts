/**
 * What the end of a run shows, in the transaction that ends it: of the wells of its source, of all wells, of months, of the
 * targets of a cleanup, of what its job found, and of what was not told of for long.
 */
import { exportOf } from '../../../core/alerts/alert.ts';
import type { AlertKind } from '../../../core/alerts/kinds.ts';
import {
  phases,
  type RestatedMonth,
  restatedAlert,
  restatedMonths,
  type RunObservations,
} from '../../../core/alerts/run-observations.ts';
import { observeFindings } from '../daily/findings.ts';
import { silentWells } from '../daily/coverage-survey.ts';
import { summable } from '../daily/row-fields.ts';
import { dayOfNumber, epochMs, jsonText, oneRow, type SqlSession, takeTurn } from '../session.ts';
import type { ObservedBy } from './export-observations.ts';
import { idOfAlert, recordFound, recordObservation } from './alert-state.ts';
import { observePushed } from '../ledger/push-store.ts';

const { job } = exportOf('uwi');

/**
 * Two runs that end at a time are judged one after the other: the second one finds what the first one kept. Returns what the
 * report is to say of it.
 */
export async function observeEnd(
  session: SqlSession,
  runId: string,
  { list, silence, restated, isCleanup, pushed, found = [], remindAfterDays }: RunObservations,
  parts = 1,
): Promise<readonly string[]> {
  const by = await takeAlertTurn(session, runId);
  if (list !== undefined) await observeList(session, list, by);
  if (silence !== undefined) {
    if (parts === 1) await observeSilence(session, silence, by);
    await beginJudging(session, 'well-silent', by.atMs);
  }
  if (restated !== undefined) await observeRestated(session, restated, by);
  if (isCleanup === true) await observeDeletions(session, by);
  for (const each of found) await recordFound(session, each, { by: runId, atMs: by.atMs });
  const notices = pushed === undefined ? [] : await observePushed(session, pushed, by);
  if (remindAfterDays !== undefined) await remind(session, remindAfterDays, by);
  return notices;
}

async function takeAlertTurn(session: SqlSession, runId: string): Promise<ObservedBy> {
  await takeTurn(session, 'alert');
  const { atMs } = await oneRow<{ atMs: number }>(session, `SELECT ${epochMs(session.dialect.clock)} AS "atMs"`);
  return { runId, atMs };
}

/** Wells of one transaction: alerts of more would not fit the memory of an engine (G8). */
const mostWellsAtOnce = 10_000;

/** In how many parts the silence of wells is judged: 1, or a power of 16. */
export async function silenceParts(session: SqlSession, most = mostWellsAtOnce): Promise<number> {
  const { wells } = await oneRow<{ wells: number }>(session, 'SELECT count(*) AS wells FROM watermark');
  let parts = 1;
  while (wells / parts > most) parts *= 16;
  return parts;
}

/** Judges the list of a run before the silence of its wells, which depends on it. Judged again, it changes nothing. */
export async function observeListAhead(session: SqlSession, runId: string, list: string): Promise<void> {
  await observeList(session, list, await takeAlertTurn(session, runId));
}

/**
 * Judges what the checks found of the wells of a run, before its end; returns whether wells are left. Judged again by another
 * process, it changes nothing.
 */
export async function observeChecks(session: SqlSession, runId: string): Promise<boolean> {
  const { atMs } = await takeAlertTurn(session, runId);
  const targets = { sql: 'SELECT target FROM run_unit WHERE run_id = $1', values: [runId] };
  return observeFindings(session, targets, { by: runId, atMs });
}

/** Judges a part of the wells, before the end of a run of many. Judged again by another process, it changes nothing. */
export async function observeSilencePart(
  session: SqlSession,
  runId: string,
  silence: NonNullable<RunObservations['silence']>,
  part: { readonly of: number; readonly index: number },
): Promise<void> {
  await observeSilence(session, silence, await takeAlertTurn(session, runId), part);
}

const kindsOfRuns = {
  leftOut: { kind: 'wells-left-out', job, targetKind: 'well' },
  silent: { kind: 'well-silent', job, targetKind: 'well' },
  restated: { kind: 'rows-restated', job, targetKind: 'month' },
} as const;
type KindOfRuns = (typeof kindsOfRuns)[keyof typeof kindsOfRuns];

/**
 * SQL of the alert `b` of a target that is not resolved, for a join. By its id, which has an index: an engine that has not
 * counted the alerts yet would go through all of them for each target.
 */
function standing(session: SqlSession, kind: KindOfRuns, target: string): string {
  return `alert b ON b.alert_id = ${idOfAlert(session, kind, target)} AND b.state <> 'resolved'`;
}

// Wells that a source has no more.

const isListed = `EXISTS (SELECT 1 FROM listed_well l WHERE l.target = source_well.target)`;

/**
 * Nothing is judged of a run that was requested before the last one of its source, such as one of last week that is retried:
 * its list is not the newest. Nor of one whose targets are not kept any more: it would have left out all.
 */
async function observeList(session: SqlSession, source: string, by: ObservedBy): Promise<void> {
  const { runId } = by;
  const [known] = await session.rows<{ runId: string; isLater: boolean }>(
    `SELECT s.run_id AS "runId", s.requested_at > r.requested_at AS "isLater" FROM source_list s
     JOIN run r ON r.run_id = $2 WHERE s.source = $1`,
    [source, runId],
  );
  if (known?.isLater === true) return;
  if ((await listWells(session, runId)) === 0) return;
  await forgetResolved(session);
  await keepList(session, source, runId, known?.runId);
  // A well that another source still lacks stays an alert; `rank`: of the sources of one well.
  const from = `CASE WHEN starts_with(l.source, '/') THEN '' ELSE 'the ' END || l.source`;
  await recordObservation(session, {
    ...kindsOfRuns.leftOut,
    values: [source],
    by: runId,
    atMs: by.atMs,
    observed: 'SELECT target FROM source_well WHERE source = $1',
    found: `SELECT l.target AS target, l.target AS owner, 'warning' AS severity, 'left-out' AS cause,
        'was in ' || ${from} || ' until its run ' || l.until_run_id || ', and is not any more' AS summary,
        l.sources AS size, ${session.dialect.jsonObject({ source: 'l.source', untilRunId: 'l.until_run_id' })} AS detail
      FROM (SELECT *, row_number() OVER (PARTITION BY target ORDER BY source) AS rank,
          count(*) OVER (PARTITION BY target) AS sources
        FROM source_well WHERE until_run_id IS NOT NULL
          AND target IN (SELECT target FROM source_well WHERE source = $1)) l WHERE l.rank = 1`,
  });
}

/**
 * Writes the targets of a run, whether or not it had a plan, to `listed_well`; returns their number. A table, of which an
 * engine knows the size: it would take those of a run for a few, and compare each with each.
 */
async function listWells(session: SqlSession, runId: string): Promise<number> {
  await session.run(session.dialect.temporaryTable('listed_well', 'target VARCHAR'));
  return session.run(
    `INSERT INTO listed_well
     SELECT target FROM run_unit WHERE run_id = $1 UNION SELECT target FROM run_target WHERE run_id = $1`,
    [runId],
  );
}

/** What was left out and has no alert any more was resolved by a person: work resolves it only once it is listed again. */
async function forgetResolved(session: SqlSession): Promise<void> {
  await session.run(
    `DELETE FROM source_well WHERE until_run_id IS NOT NULL AND NOT EXISTS (
       SELECT 1 FROM alert a
       WHERE a.alert_id = ${idOfAlert(session, kindsOfRuns.leftOut, 'source_well.target')} AND a.state <> 'resolved')`,
  );
}

/** Writes what differs from the list of the run before: most nights that is the run alone. */
async function keepList(
  session: SqlSession,
  source: string,
  runId: string,
  beforeId: string | undefined,
): Promise<void> {
  await session.run(
    `UPDATE source_well SET until_run_id = NULL WHERE source = $1 AND until_run_id IS NOT NULL AND ${isListed}`,
    [source],
  );
  if (beforeId !== undefined) {
    await session.run(
      `UPDATE source_well SET until_run_id = $2 WHERE source = $1 AND until_run_id IS NULL AND NOT ${isListed}`,
      [source, beforeId],
    );
  }
  await session.run(
    `INSERT INTO source_well (source, target) SELECT CAST($1 AS VARCHAR), l.target FROM listed_well l
     WHERE NOT EXISTS (SELECT 1 FROM source_well w WHERE w.source = $1 AND w.target = l.target)`,
    [source],
  );
  await session.run(
    `INSERT INTO source_list (source, run_id, requested_at)
     SELECT CAST($1 AS VARCHAR), run_id, requested_at FROM run WHERE run_id = $2
     ON CONFLICT (source) DO UPDATE SET run_id = excluded.run_id, requested_at = excluded.requested_at`,
    [source, runId],
  );
}

// Wells without a new day.

/**
 * SQL of whether a well has another alert: the service does not know it, or lists had it and none has it any more.
 */
function hasOtherAlert(uwi: string): string {
  const listed = (until: string): string =>
    `EXISTS (SELECT 1 FROM source_well w WHERE w.target = ${uwi} AND w.until_run_id IS ${until})`;
  return `(EXISTS (SELECT 1 FROM unknown_target u WHERE u.kind = 'uwi' AND u.target = ${uwi})
    OR (${listed('NOT NULL')} AND NOT ${listed('NULL')}))`;
}

/** SQL of whether a well is read: it is in a list, or a target of this run. Where no source has a list, all wells are. */
function isRead(uwi: string, runId: string): string {
  const isTargetIn = (table: string): string =>
    `EXISTS (SELECT 1 FROM ${table} t WHERE t.run_id = ${quoted(runId)} AND t.target = ${uwi})`;
  return `(NOT EXISTS (SELECT 1 FROM source_list)
    OR EXISTS (SELECT 1 FROM source_well w WHERE w.target = ${uwi} AND w.until_run_id IS NULL)
    OR ${isTargetIn('run_unit')} OR ${isTargetIn('run_target')})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Those that are silent when this is first judged need no night's attention: they are `info` until they are resolved. */
async function observeSilence(
  session: SqlSession,
  { today, warnAfterDays, plugged }: NonNullable<RunObservations['silence']>,
  { runId, atMs }: ObservedBy,
  part = { of: 1, index: 0 },
): Promise<void> {
  const { dialect } = session;
  const severity = (await isFirstJudged(session, 'well-silent')) ? 'info' : 'warning';
  const digits = Math.log2(part.of) / 4;
  const isOfPart = (uwi: string): string =>
    part.of === 1
      ? 'true'
      : `substr(${dialect.sha256(uwi)}, 1, ${digits}) = '${part.index.toString(16).padStart(digits, '0')}'`;
  const question = { today: String(today), warnAfterDays: String(warnAfterDays), plugged: '$1' };
  const lastDay = 'CAST(s.last_day AS VARCHAR)';
  await recordObservation(session, {
    ...kindsOfRuns.silent,
    values: [jsonText(plugged)],
    by: runId,
    atMs,
    // Nothing is judged of a well that nobody reads: one run would open what the next one resolves.
    observed: `SELECT m.uwi FROM watermark m
      WHERE ${isOfPart('m.uwi')} AND (${hasOtherAlert('m.uwi')} OR ${isRead('m.uwi', runId)})
      UNION SELECT ${dialect.each('$1', 'VARCHAR')}`,
    // Its size does not grow with the days: an acknowledgement would end every night.
    found: `SELECT s.uwi AS target, s.uwi AS owner, coalesce(b.severity, '${severity}') AS severity, 'no-new-day' AS cause,
        'no day of production after ' || ${lastDay} AS summary, 1 AS size,
        ${dialect.jsonObject({ lastDay, warnAfterDays: String(warnAfterDays) })} AS detail
      FROM (${silentWells(dialect, question)}) s LEFT JOIN ${standing(session, kindsOfRuns.silent, 's.uwi')}
      WHERE ${isOfPart('s.uwi')} AND NOT ${hasOtherAlert('s.uwi')} AND ${isRead('s.uwi', runId)}`,
  });
}

/** Whether a kind is judged for the first time: true until a run has ended in a warehouse that has wells. */
async function isFirstJudged(session: SqlSession, kind: AlertKind): Promise<boolean> {
  return (await session.rows('SELECT 1 FROM alert_beginning WHERE kind = $1', [kind])).length === 0;
}

async function beginJudging(session: SqlSession, kind: AlertKind, atMs: number): Promise<void> {
  if (!(await isFirstJudged(session, kind))) return;
  await session.run(
    `INSERT INTO alert_beginning (kind, begun_at) SELECT CAST($1 AS VARCHAR), CAST($2 AS TIMESTAMPTZ)
     WHERE EXISTS (SELECT 1 FROM watermark)`,
    [kind, new Date(atMs)],
  );
}

// Months of which rows were changed.

async function observeRestated(
  session: SqlSession,
  { beforeDay, maxRows }: NonNullable<RunObservations['restated']>,
  { runId, atMs }: ObservedBy,
): Promise<void> {
  // A run that was retried adds what it changed since: what it changed before is in the alerts already.
  const isAdded = await hasRestated(session, runId);
  const changed = await readRestated(session, runId, beforeDay, isAdded);
  const months = isAdded ? changed : restatedMonths(changed, maxRows);
  if (months.length === 0) return;
  const before = await session.rows<{ target: string; size: number; detail: string }>(
    `SELECT target, size, CAST(detail AS VARCHAR) AS detail FROM alert
     WHERE kind = 'rows-restated' AND state <> 'resolved' AND target IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(months.map(({ month }) => month))],
  );
  const found = months.map((month) => {
    const known = before.find(({ target }) => target === month.month);
    return restatedAlert(month, known && { ...known, detail: JSON.parse(known.detail) as object }, runId);
  });
  const observed = months.map(({ month }) => month);
  await recordFound(session, { ...kindsOfRuns.restated, observed, found }, { by: runId, atMs });
}

async function hasRestated(session: SqlSession, runId: string): Promise<boolean> {
  const changes = await session.rows(
    `SELECT 1 FROM alert_change c JOIN alert a ON a.alert_id = c.alert_id
     WHERE c.noted_by = $1 AND a.kind = 'rows-restated' LIMIT 1`,
    [runId],
  );
  return changes.length > 0;
}

/**
 * By month, the rows of days before `beforeDay` as they were before the run that changed them, against the rows that they are
 * now; `isSinceRetry`: as they were when the run was last retried. A version that the run itself began in that time is
 * neither. The clocks of hosts are within seconds of that of the warehouse: a day before the request the run had no row.
 */
function readRestated(
  session: SqlSession,
  runId: string,
  beforeDay: number,
  isSinceRetry: boolean,
): Promise<readonly RestatedMonth[]> {
  const since = isSinceRetry ? 'r.reopened_at' : `r.requested_at - INTERVAL '1 day'`;
  const rates = (sign: '' | '-') => phases.map((phase) => `${sign}${summable(`${phase}_rate`)} AS ${phase}`).join(', ');
  return session.rows(
    `WITH changed AS (
       SELECT h.*, h.known_run_id IS NOT DISTINCT FROM h.run_id AND h.known_from >= ${since} AS is_own
       FROM run r JOIN daily_production_history h ON h.run_id = r.run_id AND h.noticed_at >= ${since}
       WHERE r.run_id = $1 AND h.production_day < ${dayOfNumber(String(beforeDay))}),
     part AS (
       SELECT production_day, 1 AS old_rows, ${rates('-')} FROM changed WHERE NOT is_own
       UNION ALL SELECT production_day, 0, ${rates('')} FROM daily_production
       WHERE (uwi, xid) IN (SELECT uwi, next_xid FROM changed))
     SELECT substr(CAST(production_day AS VARCHAR), 1, 7) AS month, CAST(sum(old_rows) AS BIGINT) AS rows,
       ${phases.map((phase) => `sum(${phase}) AS ${phase}`).join(', ')}
     FROM part GROUP BY 1 HAVING sum(old_rows) > 0 ORDER BY 1`,
    [runId],
  );
}

// Targets of a cleanup.

function observeDeletions(session: SqlSession, { runId, atMs }: ObservedBy): Promise<void> {
  const { dialect } = session;
  const count = (name: string): string => `coalesce(CAST(${dialect.textAt('u.counts', [name])} AS BIGINT), 0)`;
  const detail = { runId: 'u.run_id', state: 'u.state' };
  return recordObservation(session, {
    kind: 'deletion-failed',
    job: 'cleanup',
    targetKind: 'deletion',
    values: [runId],
    by: runId,
    atMs,
    observed: `SELECT target FROM run_unit WHERE run_id = $1 AND state IN ('done', 'held', 'failed')`,
    found: `SELECT u.target AS target, u.target AS owner, 'warning' AS severity,
        coalesce(${dialect.textAt('u.fault', ['code'])}, 'refused') AS cause,
        coalesce(${dialect.textAt('u.fault', ['message'])}, 'the service refused to delete it') AS summary, 1 AS size,
        ${dialect.jsonObject(detail)} AS detail
      FROM run_unit u WHERE u.run_id = $1
        AND (u.state IN ('failed', 'held') OR ${count('refused')} > 0 OR ${count('stillThere')} > 0)`,
  });
}

// What is told of again.

async function remind(session: SqlSession, afterDays: number, { runId, atMs }: ObservedBy): Promise<void> {
  const now = new Date(atMs);
  const isDue = `(a.state = 'open' OR (a.state = 'acknowledged' AND a.acknowledged_until <= CAST($2 AS TIMESTAMPTZ)))
    AND a.severity <> 'info' AND a.changed_at < CAST($2 AS TIMESTAMPTZ) - INTERVAL '${afterDays} days'`;
  const reminded = await session.run(
    `UPDATE alert AS a SET state = 'open', acknowledged_at = NULL, acknowledged_by = NULL, acknowledged_because = NULL,
       acknowledged_until = NULL, change = 'reminded', change_no = a.change_no + 1,
       changed_at = CAST($2 AS TIMESTAMPTZ), changed_by = CAST($1 AS VARCHAR)
     WHERE ${isDue}`,
    [runId, now],
  );
  if (reminded === 0) return;
  await session.run(
    `INSERT INTO alert_change (alert_id, change_no, noted_at, change, noted_by, severity, cause, summary, size)
     SELECT alert_id, change_no, changed_at, change, changed_by, severity, cause, summary, size FROM alert
     WHERE change = 'reminded' AND changed_by = $1 AND changed_at = $2`,
    [runId, now],
  );
}
