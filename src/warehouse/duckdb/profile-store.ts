/** Owns the table of service profiles in DuckDB. */
import type { ProfileStore } from '../warehouse.ts';
import type { DatabaseFile } from './database-file.ts';
import { instant, readRows, wellFormed } from './sql.ts';

export function createProfileStore(file: DatabaseFile): ProfileStore {
  return {
    read: (baseUrl) =>
      file.transact(async (connection) => {
        const [row] = await readRows<{ profile: string }>(
          connection,
          'SELECT profile FROM service_profile WHERE base_url = $1',
          [baseUrl],
        );
        return row?.profile;
      }),
    save: (baseUrl, profile, savedAtMs) =>
      file.transact(async (connection) => {
        await connection.run(`INSERT OR REPLACE INTO service_profile VALUES ($1, $2::JSON, ${instant('$3')})`, [
          baseUrl,
          wellFormed(profile),
          BigInt(savedAtMs),
        ]);
      }),
  };
}
