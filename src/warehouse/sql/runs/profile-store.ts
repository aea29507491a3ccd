import { DAY_MS } from '../../../core/time/window.ts';
import type { ProfileStore } from '../../port/profiles.ts';
import { JsonText } from '../json-text.ts';
import type { SqlDatabase } from '../session.ts';
import { claimForService } from '../ownership/service-claim.ts';
import { namesOfService } from '../ownership/service-names.ts';

/** Longer than any run goes on. */
const keptClaimsMs = 30 * DAY_MS;

export function createProfileStore(database: SqlDatabase): ProfileStore {
  return {
    read: (baseUrl) =>
      database.transact(async (session) => {
        const [row] = await session.rows<{ profile: string }>(
          `SELECT profile FROM service_profile WHERE base_url IN ${namesOfService('$1')}
           ORDER BY base_url = $1 DESC, saved_at DESC LIMIT 1`,
          [baseUrl],
        );
        return row?.profile;
      }),
    save: (baseUrl, profile, savedAtMs) =>
      database.transact(async (session) => {
        if (database.service !== undefined) await claimForService(session, database.service);
        await session.run(
          `INSERT INTO service_profile (base_url, profile, saved_at) VALUES ($1, $2::JSON, $3)
 ON CONFLICT (base_url) DO UPDATE SET profile = excluded.profile, saved_at = excluded.saved_at`,
          [baseUrl, new JsonText(profile), new Date(savedAtMs)],
        );
      }),
    claimProbe: (runId, nowMs) =>
      database.transact(async (session) => {
        await session.run(`DELETE FROM profile_probe WHERE claimed_at < $1`, [new Date(nowMs - keptClaimsMs)]);
        const claimed = await session.rows(
          `INSERT INTO profile_probe VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING run_id`,
          [runId, new Date(nowMs)],
        );
        return claimed.length > 0;
      }),
  };
}
