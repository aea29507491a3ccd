import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/core/base/errors.ts';
import { isPostgresAddress, parsePostgresAddress } from '../../../src/warehouse/postgres/server/postgres-address.ts';

describe('the address of a PostgreSQL warehouse', () => {
  it('G10: gives its parts, and a name without password and settings', () => {
    const address = parsePostgresAddress('postgresql://etl:s%40crt%2Fx@db.example.com/production?sslmode=no-verify');
    expect(address).toEqual({
      location: 'postgres://etl@db.example.com/production',
      host: 'db.example.com',
      port: 5432,
      user: 'etl',
      database: 'production',
      password: 's@crt/x',
      tls: { isVerified: false, caFile: undefined, certFile: undefined, keyFile: undefined },
    });
  });

  it.each([
    ['db.example.com', true],
    ['127.0.0.1:6000', undefined],
    ['localhost', undefined],
    ['[::1]:6000', undefined],
    ['[2001:db8::1]', true],
  ])('verifies the server at %s unless it is this machine', (host, isVerified) => {
    expect(parsePostgresAddress(`postgres://etl@${host}/production`).tls?.isVerified).toBe(isVerified);
    const verified = parsePostgresAddress(`postgres://etl@${host}/production?sslmode=verify-full&sslrootcert=/ca.pem`);
    expect(verified.tls).toMatchObject({ isVerified: true, caFile: '/ca.pem' });
    expect(parsePostgresAddress(`postgres://etl@${host}/production?sslmode=disable`).tls).toBeUndefined();
  });

  it('takes the folder of a Unix socket', () => {
    const { host, location, tls } = parsePostgresAddress('postgres://etl@localhost/production?host=/run/postgresql');
    expect([host, location, tls]).toEqual([
      '/run/postgresql',
      'postgres://etl@localhost/production?host=/run/postgresql',
      undefined,
    ]);
  });

  it.each([
    'postgres://',
    'postgres://db.example.com/hunter2',
    'postgres://etl:hunter2@db.example.com',
    'postgres://etl:hunter2@db.example.com/',
    'postgres://etl:hunter2@db.example.com/a/b',
    'postgres://etl:hunter2#@db.example.com/production',
    'postgres://etl:hun%ter2@db.example.com/production',
    'postgres://etl@db.example.com/production?password=hunter2',
    'postgres://etl:hunter2@db.example.com/production?sslmode=perhaps',
  ])('G10: refuses what it cannot use, and shows nothing of it', (address) => {
    expect(isPostgresAddress(address)).toBe(true);
    expect(() => parsePostgresAddress(address)).toThrow(UsageError);
    try {
      parsePostgresAddress(address);
    } catch (error) {
      expect(JSON.stringify([String(error), (error as UsageError).hint])).not.toMatch(/hunter2|hun%/);
    }
  });
});
