import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/core/base/errors.ts';
import { isPostgresAddress, parsePostgresAddress } from '../../../src/warehouse/postgres/server/connections.ts';

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

  it.each([
    'postgres://etl@localhost/production?host=/run/postgresql',
    'postgres://etl@/production?host=/run/postgresql',
  ])('takes the folder of a Unix socket: %s', (address) => {
    const { host, location, tls } = parsePostgresAddress(address);
    expect([host, location, tls]).toEqual([
      '/run/postgresql',
      'postgres://etl@localhost/production?host=/run/postgresql',
      undefined,
    ]);
  });

  it('G11: names the host that the setting names', () => {
    const { host, port, location } = parsePostgresAddress('postgres://etl@:6000/production?host=db.example.com');
    expect([host, port, location]).toEqual(['db.example.com', 6_000, 'postgres://etl@db.example.com:6000/production']);
  });

  it.each([
    ['postgres://etl:7@db.example.com:65536/production', /its port is above 65535/],
    ['postgres://etl:99999@db.example.com/', /names no database/],
    ['postgres://etl@/production', /names no host/],
    ['postgres://etl@db.example.com/production?sslmode=prefer', /verify-full \(which require and verify-ca mean/],
  ])('says what is wrong with %s', (address, words) => {
    expect(() => parsePostgresAddress(address)).toThrow(words);
  });

  it.each(['require', 'verify-ca'])('verifies certificate and host where it says %s', (mode) => {
    const { tls } = parsePostgresAddress(`postgres://etl@db.example.com/production?sslmode=${mode}`);
    expect(tls?.isVerified).toBe(true);
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
