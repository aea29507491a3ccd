import { DAY_MS } from '../../../core/time/window.ts';
import type { ProfileStore } from '../../port/profiles.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { instant, readRows, wellFormed } from '../file/sql.ts';
import { claimForService } from '../ownership/service-claim.ts';
import { namesOfService } from '../ownership/service-names.ts';

/** Longer than any run goes on. */
const keptClaimsMs = 30 * DAY_MS;

export function createProfileStore(file: DatabaseFile): ProfileStore {
  return {
    read: (baseUrl) =>
      file.transact(async (connection) => {
        const [row] = await readRows<{ profile: string }>(
          connection,
          `SELECT profile FROM service_profile WHERE base_url IN ${namesOfService('$1')}
           ORDER BY base_url = $1 DESC, saved_at DESC LIMIT 1`,
          [baseUrl],
        );
        return row?.profile;
      }),
    save: (baseUrl, profile, savedAtMs) =>
      file.transact(async (connection) => {
        if (file.service !== undefined) await claimForService(connection, file.service);
        await connection.run(`INSERT OR REPLACE INTO service_profile VALUES ($1, $2::JSON, ${instant('$3')})`, [
          baseUrl,
          wellFormed(profile),
          BigInt(savedAtMs),
        ]);
      }),
    claimProbe: (runId, nowMs) =>
      file.transact(async (connection) => {
        await connection.run(`DELETE FROM profile_probe WHERE claimed_at < ${instant('$1')}`, [
          BigInt(nowMs - keptClaimsMs),
        ]);
        const claimed = await readRows(
          connection,
          `INSERT INTO profile_probe VALUES ($1, ${instant('$2')}) ON CONFLICT DO NOTHING RETURNING run_id`,
          [runId, BigInt(nowMs)],
        );
        return claimed.length > 0;
      }),
  };
}
