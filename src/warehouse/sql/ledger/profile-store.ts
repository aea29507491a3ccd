import { type IdempotencyKey, KeyReusedError, type RunRequest } from '../../../core/run/run.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { ProfileStore, RunLedger } from '../../port/runs.ts';
import { claimForService, namesOfService } from './service-claim.ts';
import { type InSession, JsonText, type SqlDatabase, type SqlSession, transacted } from '../session.ts';

/** Longer than any run goes on. */
const keptClaimsMs = 30 * DAY_MS;

export function createProfileStore(database: SqlDatabase): ProfileStore {
  return transacted<ProfileStore>(database, {
    read: async (session, baseUrl) => {
      const [row] = await session.rows<{ profile: string }>(
        `SELECT profile FROM service_profile WHERE base_url IN ${namesOfService('$1')}
         ORDER BY base_url = $1 DESC, saved_at DESC LIMIT 1`,
        [baseUrl],
      );
      return row?.profile;
    },
    save: async (session, baseUrl, profile, savedAtMs) => {
      await claimForService(session, database);
      await session.run(
        `INSERT INTO service_profile (base_url, profile, saved_at) VALUES ($1, $2::JSON, $3)
         ON CONFLICT (base_url) DO UPDATE SET profile = excluded.profile, saved_at = excluded.saved_at`,
        [baseUrl, new JsonText(profile), new Date(savedAtMs)],
      );
    },
    claimProbe: async (session, runId, nowMs) => {
      await session.run(`DELETE FROM profile_probe WHERE claimed_at < $1`, [new Date(nowMs - keptClaimsMs)]);
      const claim = 'INSERT INTO profile_probe VALUES ($1, $2) ON CONFLICT DO NOTHING';
      return (await session.run(claim, [runId, new Date(nowMs)])) > 0;
    },
  });
}

// The keys of requests that made runs (docs/design.md section 11).

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
