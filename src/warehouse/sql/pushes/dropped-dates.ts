/** Pushes by the rule of earlier versions, which sent the last date of a pipe in a request and dropped the others. */
import type { PushForm } from '../../../core/pipes/pipe-version.ts';
import type { DroppedDates } from '../../port/pushes.ts';
import { epochMs, type SqlSession } from '../session.ts';

interface Row {
  readonly runId: string;
  readonly name: string | null;
  readonly file: string | null;
  readonly sha: string;
  readonly form: PushForm | null;
  readonly superseded: number;
  readonly completedMs: number;
}

/** Checkpoints of version 1 are of that rule (core/pipes/checkpoint.ts). A later push of the content has sent them. */
export async function readDroppedDates(session: SqlSession): Promise<readonly DroppedDates[]> {
  const { dialect } = session;
  const superseded = `CAST(${dialect.textAt('push.checkpoint', ['counts', 'superseded'])} AS INTEGER)`;
  const rows = await session.rows<Row>(
    `SELECT push.run_id AS "runId", ${dialect.textAt('run.params', ['name'])} AS name, ${dialect.textAt('run.params', ['file'])} AS file,
       push.file_sha256 AS sha, push.form AS form, ${superseded} AS superseded, ${epochMs('push.completed_at')} AS "completedMs"
     FROM push LEFT JOIN run ON run.run_id = push.run_id
     WHERE push.completed_at IS NOT NULL AND ${dialect.textAt('push.checkpoint', ['version'])} = '1' AND ${superseded} > 0
       AND NOT EXISTS (SELECT 1 FROM push later WHERE later.file_sha256 = push.file_sha256
         AND later.completed_at > push.completed_at)
     ORDER BY push.completed_at, push.run_id`,
  );
  return rows.map(({ runId, name, file, sha, form, superseded: left, completedMs }) => ({
    runId,
    name: name ?? undefined,
    file: file ?? undefined,
    fileSha256: sha,
    form: form ?? undefined,
    rows: left,
    completedAtMs: completedMs,
  }));
}
