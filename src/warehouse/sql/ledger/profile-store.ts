/** Profiles of services (core/paging/service-profile.ts), and which run probes one. */
import { DAY_MS } from '../../../core/time/window.ts';
import type { ProfileStore } from '../../port/runs.ts';
import { claimForService, namesOfService } from './service-claim.ts';
import { JsonText, type SqlDatabase, transacted } from '../session.ts';

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
