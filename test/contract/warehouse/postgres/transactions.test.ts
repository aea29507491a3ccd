/** Transactions on PostgreSQL: whole or not at all, whatever becomes of the connection. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UnreachableError } from '../../../../src/core/base/errors.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { PostgresDatabase } from '../../../../src/warehouse/postgres/server/postgres-database.ts';
import { startCuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { databaseOfTest, postgresLack, runAt } from '../../../support/postgres/database.ts';
import { startPostgres } from '../../../support/postgres/postgres-server.ts';

const lack = await postgresLack('newest');

function open(
  url: string,
  waits: { readonly retryMs?: number; readonly onWait?: (message: string) => void } = {},
): PostgresDatabase & AsyncDisposable {
  const database = new PostgresDatabase({
    address: parsePostgresAddress(url),
    password: async () => undefined,
    retryMs: 20_000,
    ...waits,
    prepare: async () => undefined,
  });
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

/** Takes connections, and ends each without a word. */
async function startDeafServer(port: number): Promise<{ readonly connections: number; close(): Promise<void> }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).destroy();
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    get connections() {
      return connections;
    },
    async close() {
      server.close();
      await once(server, 'close');
    },
  };
}

describe.skipIf(lack !== undefined)(`a transaction on PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('G1: takes back all of a work that fails, and its connection holds nothing of it', async () => {
    const { url, run } = await databaseOfTest();
    await run('CREATE TABLE counted (n INTEGER)');
    await using database = open(url);
    const failed = database.transact(async (session) => {
      await session.run('INSERT INTO counted VALUES (1)');
      await session.run('CREATE TEMP TABLE kept (n INTEGER) ON COMMIT DROP');
      throw new Error('given up');
    });
    await expect(failed).rejects.toThrow('given up');
    // A table of the failed transaction would stand in the way.
    await database.transact(async (session) => {
      await session.run('CREATE TEMP TABLE kept (n INTEGER) ON COMMIT DROP');
      await session.run('INSERT INTO counted VALUES (2)');
    });
    expect(await run('SELECT n FROM counted')).toEqual([{ n: 2 }]);
    expect(
      await run(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
      ),
    ).toEqual([]);
  });

  it('G1: fails where a statement failed whose error the work has swallowed', async () => {
    const { url, run } = await databaseOfTest();
    await run('CREATE TABLE counted (n INTEGER)');
    await using database = open(url);
    const failed = database.transact(async (session) => {
      await session.run('INSERT INTO counted VALUES (1)');
      await session.run('SELECT 1 / 0').catch(() => undefined);
    });
    await expect(failed).rejects.toThrow(/current transaction is aborted/);
    expect(await run('SELECT n FROM counted')).toEqual([]);
  });

  it.each(['before the commit', 'after the commit'] as const)(
    'G1: commits once where the connection is lost %s',
    async (cut) => {
      const { url, run } = await databaseOfTest();
      await run('CREATE TABLE counted (n INTEGER)');
      await using proxy = await startCuttingProxy(Number(new URL(url).port));
      await using database = open(url.replace(/:\d+\//, `:${proxy.port}/`));
      const times = 10;
      for (let n = 0; n < times; n += 1) {
        proxy.cutNext(cut);
        await database.transact((session) => session.run('INSERT INTO counted VALUES ($1)', [n]));
      }
      expect(proxy.cuts).toBe(times);
      const counted = await run('SELECT n, count(*)::int AS times FROM counted GROUP BY n ORDER BY n');
      expect(counted).toEqual(Array.from({ length: times }, (_, n) => ({ n, times: 1 })));
    },
  );

  it('G1: tells that the server is away, where it does not come back to say what became of a commit', async () => {
    const { url, run } = await databaseOfTest();
    await run('CREATE TABLE counted (n INTEGER)');
    await using proxy = await startCuttingProxy(Number(new URL(url).port));
    await using database = open(url.replace(/:\d+\//, `:${proxy.port}/`), { retryMs: 100 });
    await database.transact((session) => session.rows('SELECT 1'));
    proxy.cutForGood();
    const error: unknown = await database
      .transact((session) => session.run('INSERT INTO counted VALUES (1)'))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^the warehouse postgres:\S+ does not answer: nothing listens there$/),
      hint: expect.stringMatching(/whether that was done is not known\. Nothing is lost/),
    });
    expect(await run('SELECT * FROM counted')).toEqual([]);
  });

  it.each(['14', 'newest'] as const)(
    'G1: a commit that a crash lost does not count as the one that has its number now, with PostgreSQL %s',
    async (release) => {
      // The log comes to the disk with a commit alone.
      const server = await startPostgres(release, { wal_writer_delay: '10s', synchronous_commit: 'on' });
      onTestFinished(() => server.dispose());
      const url = `${server.adminUrl}/postgres`;
      await runAt(url, 'CREATE TABLE counted (n INTEGER)');
      await using proxy = await startCuttingProxy(Number(new URL(server.adminUrl).port));
      await using database = open(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`);
      await database.transact((session) => session.rows('SELECT 1'));
      const numbers: unknown[] = [];
      const insert = (n: number): Promise<unknown> =>
        database.transact(async (session) => {
          await session.run('INSERT INTO counted VALUES ($1)', [n]);
          numbers.push(...(await session.rows('SELECT pg_current_xact_id()::text AS xid')));
        });
      proxy.holdNext(async () => {
        await server.kill();
        await server.start();
      });
      await insert(1);
      proxy.holdNext(async () => {
        await server.kill();
        await server.start();
        numbers.push(...(await runAt(url, 'INSERT INTO counted VALUES (3) RETURNING xmin::text AS xid')));
      });
      await insert(2).catch((error: unknown) => expect(error).toBeInstanceOf(UnreachableError));
      expect(numbers).toHaveLength(4);
      expect(numbers.at(-1)).toEqual(numbers.at(-2));
      expect(await runAt(url, 'SELECT n FROM counted ORDER BY n')).toEqual([{ n: 1 }, { n: 3 }]);
    },
  );

  it('does two works again that stood in the way of each other', async () => {
    const { url, run } = await databaseOfTest();
    await run('CREATE TABLE counted (name TEXT PRIMARY KEY, n INTEGER)');
    await run(`INSERT INTO counted VALUES ('a', 0), ('b', 0)`);
    await using database = open(url);
    let hasBoth: (() => void) | undefined;
    const bothBegan = new Promise<void>((resolve) => (hasBoth = resolve));
    let began = 0;
    const add = async (names: readonly string[]): Promise<void> =>
      database.transact(async (session) => {
        for (const [index, name] of names.entries()) {
          await session.run('UPDATE counted SET n = n + 1 WHERE name = $1', [name]);
          if (index > 0) continue;
          began += 1;
          if (began === 2) hasBoth?.();
          await bothBegan;
        }
      });
    await Promise.all([add(['a', 'b']), add(['b', 'a'])]);
    expect(began).toBeGreaterThan(2);
    expect(await run('SELECT n FROM counted')).toEqual([{ n: 2 }, { n: 2 }]);
  });

  it('goes on after its idle connections were ended', async () => {
    const { url, run } = await databaseOfTest();
    await using database = open(url);
    const own = () => database.transact((session) => session.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid'));
    const [before] = await own();
    await run(`SELECT pg_terminate_backend(${before?.pid})`);
    const [after] = await own();
    expect(after?.pid).not.toBe(before?.pid);
  });

  it('waits once in an outage: what comes later in it fails at its first try, until the server is back', async () => {
    const { url } = await databaseOfTest();
    const told: string[] = [];
    const proxy = await startCuttingProxy(Number(new URL(url).port));
    const { port } = proxy;
    const waits = { retryMs: 2_500, onWait: (message: string) => void told.push(message) };
    await using database = open(url.replace(/:\d+\//, `:${port}/`), waits);
    const ask = () => database.transact((session) => session.rows('SELECT 1 AS one'));
    await ask();
    await proxy[Symbol.asyncDispose]();
    const deaf = await startDeafServer(port);
    await expect(ask()).rejects.toThrow(/does not answer/);
    const tries = deaf.connections;
    expect(tries).toBeGreaterThan(2);
    for (let later = 1; later <= 3; later += 1) {
      await expect(ask()).rejects.toThrow(/does not answer/);
      expect(deaf.connections).toBe(tries + later);
    }
    expect(told).toEqual([expect.stringMatching(/does not answer: .*: waiting for it, 3 s at most\.$/)]);
    await deaf.close();
    await using back = await startCuttingProxy(Number(new URL(url).port), port);
    expect(await ask()).toEqual([{ one: 1 }]);
    // The next outage is another one, which is waited for.
    back.cutNext('before the commit');
    expect(await ask()).toEqual([{ one: 1 }]);
  });

  it('G8: streams rows, and adds records of any text, in and out alike', async () => {
    const { url, run } = await databaseOfTest();
    await run('CREATE TABLE noted (place INTEGER, word TEXT, at TIMESTAMPTZ, big BIGINT)');
    await using database = open(url);
    const words = ['', '\\N', 'a\tb\nc\rd\\e', `O'Brien "ø" 🛢`, null];
    const records = Array.from({ length: 2_500 }, (_, place) => ({ place, word: words[place % words.length] ?? null }));
    await database.transact((session) =>
      session.append(
        'noted',
        {
          place: ({ place }) => place,
          word: ({ word }) => word,
          at: ({ place }) => new Date(place * 1_500),
          big: ({ place }) => 9_007_199_254_740_993n + BigInt(place),
        },
        records,
      ),
    );
    const read = await database.transactOnce(async (session) => {
      const rows: unknown[] = [];
      for await (const row of session.stream('SELECT * FROM noted WHERE place >= $1 ORDER BY place', [1]))
        rows.push(row);
      return rows;
    });
    expect(read).toHaveLength(records.length - 1);
    expect(read[0]).toEqual({ place: 1, word: '\\N', at: '1970-01-01T00:00:01.5Z', big: '9007199254740994' });
    expect(read.map((row) => (row as { word: string | null }).word)).toEqual(records.slice(1).map(({ word }) => word));
  });
});
