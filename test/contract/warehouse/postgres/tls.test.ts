/** Connections by TLS to a server that takes no other ones, with certificates of an authority of its own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UnreachableError } from '../../../../src/core/base/errors.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { PostgresDatabase } from '../../../../src/warehouse/postgres/server/postgres-database.ts';
import { createDatabase, postgresLack } from '../../../support/postgres/database.ts';
import { type PostgresServer, startPostgres } from '../../../support/postgres/postgres-server.ts';
import { createAuthority } from '../../../support/tls-certificates.ts';

const lack = await postgresLack('newest');
const password = 'correct-horse';
const isByTls = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';

describe.skipIf(lack !== undefined)(`PostgreSQL by TLS${lack === undefined ? '' : ` (${lack})`}`, () => {
  const authority = createAuthority();
  let server: PostgresServer | undefined;
  let folder = '';
  let address = '';

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-tls-'));
    const client = authority.certify('certified');
    const files = {
      'ca.pem': authority.cert,
      'other-ca.pem': createAuthority('another authority').cert,
      'client.pem': client.cert,
      'client.key': client.key,
    };
    for (const [name, pem] of Object.entries(files)) await writeFile(path.join(folder, name), pem);
    server = await startPostgres('newest', {}, { tls: { ...authority.certify('server'), ca: authority.cert } });
    const { url, run } = await createDatabase(server.adminUrl);
    await run(`CREATE ROLE etl LOGIN PASSWORD '${password}'; CREATE ROLE certified LOGIN`);
    address = url.replace('postgres@', 'etl@');
  });
  afterAll(async () => {
    await server?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = async (url: string): Promise<readonly object[]> => {
    const database = new PostgresDatabase({
      address: parsePostgresAddress(url),
      password: async () => password,
      retryMs: 1_000,
      prepare: async () => undefined,
    });
    try {
      return await database.transact((session) => session.rows(isByTls));
    } finally {
      await database.close();
    }
  };
  const faultOf = async (url: string): Promise<UnreachableError> => {
    const error: unknown = await ask(url).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnreachableError);
    return error as UnreachableError;
  };

  it.each(['verify-full', 'verify-ca', 'require'])('G10: trusts its authority alone by sslmode=%s', async (mode) => {
    const trusting = `${address}?sslmode=${mode}&sslrootcert=${folder}/ca.pem`;
    expect(await ask(trusting)).toEqual([{ ssl: true }]);
    for (const distrusting of [`${address}?sslmode=${mode}`, trusting.replace('ca.pem', 'other-ca.pem')]) {
      const fault = await faultOf(distrusting);
      expect(fault.message).toMatch(/its certificate is not trusted/);
      expect(fault.hint).toMatch(/sslrootcert=FILE .* sslmode=require checks both here/);
    }
    // The certificate is that of 127.0.0.1.
    const otherName = await faultOf(trusting.replace('127.0.0.1', 'localhost'));
    expect(otherName.message).toMatch(/its certificate is not trusted: .*localhost/);
  });

  it('takes any certificate where it was told to', async () => {
    expect(await ask(`${address}?sslmode=no-verify`)).toEqual([{ ssl: true }]);
  });

  it('shows a certificate of its own in place of a password', async () => {
    const certified = address.replace('etl@', 'certified@');
    const shown = `&sslcert=${folder}/client.pem&sslkey=${folder}/client.key`;
    expect(await ask(`${certified}?sslmode=verify-full&sslrootcert=${folder}/ca.pem${shown}`)).toEqual([{ ssl: true }]);
    const fault = await faultOf(`${certified}?sslmode=verify-full&sslrootcert=${folder}/ca.pem`);
    expect(fault.message).toMatch(/does not let certified in: .*certificate/);
  });

  it('is told to use TLS where the server refuses a connection without it', async () => {
    const fault = await faultOf(address);
    expect(fault.message).toMatch(/does not let etl in: .*no encryption/);
    expect(fault.hint).toMatch(/set sslmode=verify-full/);
  });
});
