/** The keys of requests that made runs (docs/design.md section 11): a request that comes again has the same run. */
import { type IdempotencyKey, KeyReusedError, type RunRequest } from '../../../core/run/run.ts';
import type { RunLedger } from '../../port/runs.ts';
import type { InSession, SqlSession } from '../session.ts';

/** The run of the key. Throws KeyReusedError if the key came with another body. */
export const findKeyed: InSession<RunLedger['findKeyed']> = async (session, given) => {
  const { client, route, key, bodySha256 } = given;
  const [known] = await session.rows<{ runId: string; body: string }>(
    `SELECT run_id AS "runId", body_sha256 AS body FROM idempotency_key WHERE client = $1 AND route = $2 AND key = $3`,
    [client, route, key],
  );
  if (known !== undefined && known.body !== bodySha256) throw new KeyReusedError(given, known.runId);
  return known?.runId;
};

export async function keepKey(
  session: SqlSession,
  { client, route, key, bodySha256 }: IdempotencyKey,
  { runId, requestedAtMs }: RunRequest,
): Promise<void> {
  const values = [client, route, key, bodySha256, runId, new Date(requestedAtMs)];
  await session.run('INSERT INTO idempotency_key VALUES ($1, $2, $3, $4, $5, $6)', values);
}
