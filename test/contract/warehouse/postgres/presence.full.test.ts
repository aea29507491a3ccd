/** The session by which a PostgreSQL warehouse knows that its working process lives. */
import { describe, expect, it } from 'vitest';
import { createPresence } from '../../../../src/warehouse/postgres/presence.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { PostgresDatabase } from '../../../../src/warehouse/postgres/server/postgres-database.ts';
import { databaseOfTest, postgresLack } from '../../../support/postgres/database.ts';

const lack = await postgresLack('newest');

describe.skipIf(lack !== undefined)(`the presence of a process${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('G11: is made again after its session was ended, wakes its process then, and ends once', async () => {
    const { url, run } = await databaseOfTest();
    const database = new PostgresDatabase({
      address: parsePostgresAddress(url),
      password: async () => undefined,
      retryMs: 20_000,
      prepare: async () => undefined,
    });
    const presence = createPresence(database);
    let hear: (() => void) | undefined;
    const word = (): Promise<void> => new Promise((resolve) => (hear = resolve));
    const kept = await presence.keep('queue', () => hear?.());
    expect(await presence.isGone('queue')).toBe(false);
    expect(await presence.isGone('another')).toBe(true);

    for (const _ of ['first', 'second']) {
      const woken = word();
      await run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 722580");
      await woken;
      expect(await presence.isGone('queue')).toBe(false);
      const heard = word();
      await presence.wake();
      await heard;
    }

    await kept.end();
    await expect.poll(() => presence.isGone('queue')).toBe(true);
    await database.close();
  });
});
