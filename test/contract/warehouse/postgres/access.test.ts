/** What the operator reads where a PostgreSQL server cannot be used: what is wrong there, and what to do. */
import { describe, expect, it } from 'vitest';
import { UnreachableError } from '../../../../src/core/base/errors.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { PostgresDatabase, requireRelease } from '../../../../src/warehouse/postgres/server/postgres-database.ts';
import { databaseOfTest, postgresLack } from '../../../support/postgres/database.ts';

const lack = await postgresLack('newest');
const password = 'correct horse & battery';

/** The error of a first use. */
async function faultOf(url: string, given?: string, sql = 'SELECT 1'): Promise<UnreachableError> {
  const database = new PostgresDatabase({
    address: parsePostgresAddress(url),
    password: async () => given,
    retryMs: 1_000,
    prepare: async () => undefined,
  });
  try {
    const error: unknown = await database.transact((session) => session.run(sql)).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnreachableError);
    return error as UnreachableError;
  } finally {
    await database.close();
  }
}

/** A role of the test's own, which the server asks for its password. */
async function withRole(): Promise<{ readonly url: string; readonly role: string }> {
  const { url, name, run } = await databaseOfTest();
  const role = `role_${name}`;
  await run(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  return { url: url.replace('postgres@', `${role}@`), role };
}

describe.skipIf(lack !== undefined)(`access to PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('lets a role in by its password', async () => {
    const { url } = await withRole();
    const database = new PostgresDatabase({
      address: parsePostgresAddress(url),
      password: async () => password,
      retryMs: 1_000,
      prepare: async () => undefined,
    });
    expect(await database.transact((session) => session.rows('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
    await database.close();
  });

  it('G10: names the user whose password is refused, and shows no password', async () => {
    const { url, role } = await withRole();
    for (const wrong of ['hunter2hunter2', undefined]) {
      const fault = await faultOf(url, wrong);
      expect(fault.message).toContain(role);
      expect(fault.message).toMatch(/password/);
      expect(fault.hint).toMatch(/PGPASSWORD/);
      expect(JSON.stringify([fault.message, fault.hint, String(fault.cause)])).not.toMatch(/hunter2|horse/);
    }
  });

  it('says that a database is not there, that a right is missing, that nobody is there', async () => {
    const { url, role } = await withRole();
    const missing = await faultOf(`${url}_gone`, password);
    expect(missing.message).toMatch(/no database wellsync_.*_gone/);
    expect(missing.hint).toMatch(/CREATE DATABASE/);
    const unfit = await faultOf(url, password, 'CREATE TABLE public.mine (n INTEGER)');
    expect(unfit.message).toMatch(new RegExp(`${role} lacks a right: permission denied for schema public`));
    expect(unfit.hint).toMatch(/docs\/postgres\.md/);
    const closed = await faultOf(url.replace(/:\d+\//, ':1/'), password);
    expect(closed.message).toMatch(/does not answer: nothing listens there/);
    const unknown = await faultOf('postgres://someone@warehouse.invalid/production', password);
    expect(unknown.message).toMatch(/its host is not known/);
  });

  it('refuses a server that says it is older than 14', () => {
    const location = 'postgres://etl@db.example.com/production';
    expect(() => requireRelease({ number: 140_000, name: '14.0' }, location)).not.toThrow();
    for (const [release, name] of [
      [{ number: 130_023, name: '13.23' }, '13.23'],
      [{ number: 90_624, name: '9.6.24' }, '9.6.24'],
      [undefined, 'of an unknown version'],
    ] as const) {
      expect(() => requireRelease(release, location)).toThrow(
        new RegExp(`db.example.com/production is PostgreSQL ${name}$`),
      );
    }
  });

  it('goes without TLS nowhere but where it was told to', async () => {
    const { url } = await withRole();
    const fault = await faultOf(`${url}?sslmode=verify-full`, password);
    expect(fault.message).toMatch(/takes no connection by TLS/);
    const noFile = await faultOf(`${url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`, password);
    expect(noFile.message).toMatch(/\/nowhere\/ca\.pem for TLS cannot be read/);
  });
});
