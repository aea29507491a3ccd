/** The keys of requests that made runs (docs/design.md section 11). */
import { type IdempotencyKey, KeyReusedError } from '../../../core/run/idempotency-key.ts';
import type { RunRequest } from '../../../core/run/run.ts';
import type { SqlSession } from '../session.ts';

/** The run of the key. Throws KeyReusedError if the key came with another body. */
export async function findKeyed(session: SqlSession, given: IdempotencyKey): Promise<string | undefined> {
  const { client, route, key, bodySha256 } = given;
  const [known] = await session.rows<{ runId: string; body: string }>(
    `SELECT run_id AS "runId", body_sha256 AS body FROM idempotency_key WHERE client = $1 AND route = $2 AND key = $3`,
    [client, route, key],
  );
  if (known !== undefined && known.body !== bodySha256) throw new KeyReusedError(given, known.runId);
  return known?.runId;
}

export async function keepKey(
  session: SqlSession,
  { client, route, key, bodySha256 }: IdempotencyKey,
  { runId, requestedAtMs }: RunRequest,
): Promise<void> {
  await session.run('INSERT INTO idempotency_key VALUES ($1, $2, $3, $4, $5, $6)', [
    client,
    route,
    key,
    bodySha256,
    runId,
    new Date(requestedAtMs),
  ]);
}
