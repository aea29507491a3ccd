import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/core/base/errors.ts';
import { normalAddress, serviceIdentity, serviceKeyOf } from '../../../../src/core/base/service-key.ts';
import { expectForAll } from '../../../support/property-runs.ts';

const host = fc.domain();
const port = fc.option(fc.integer({ min: 1_024, max: 65_535 }), { nil: undefined });
const path = fc.array(fc.stringMatching(/^[A-Za-z0-9_~-]{1,8}$/), { maxLength: 3 }).map((parts) => parts.join('/'));
const secret = fc.stringMatching(/^[A-Za-z0-9]{12,16}$/);
const parts = fc.record({ scheme: fc.constantFrom('http', 'https'), host, port, path });

function written({ scheme, host: name, port: number, path: rest }: ReturnType<typeof shapeOf>): string {
  return `${scheme}://${name}${number === undefined ? '' : `:${number}`}${rest === '' ? '' : `/${rest}`}`;
}
function shapeOf(value: { scheme: string; host: string; port: number | undefined; path: string }) {
  return value;
}

describe('the name of a service', () => {
  it.each([
    ['https://PDS.Example.COM', 'https://pds.example.com'],
    ['HTTPS://pds.example.com:443/', 'https://pds.example.com'],
    ['http://pds.example.com:80', 'http://pds.example.com'],
    ['http://pds.example.com:443', 'http://pds.example.com:443'],
    ['https://pds.example.com:8443/API/v2//', 'https://pds.example.com:8443/API/v2'],
    ['https://user:word@pds.example.com/?token=word#word', 'https://pds.example.com'],
    ['https://bücher.example/öl', 'https://xn--bcher-kva.example/%C3%B6l'],
    ['http://[2001:DB8::1]:4010/', 'http://[2001:db8::1]:4010'],
    [' https://pds.example.com ', 'https://pds.example.com'],
  ])('%s is kept as %s', (address, expected) => {
    expect(normalAddress(address)).toBe(expected);
  });

  it.each(['', 'pds.example.com', 'redis://pds.example.com', 'https://', 'pds-production'])(
    '%j is no address',
    (text) => {
      expect(normalAddress(text)).toBeUndefined();
    },
  );

  it('G11: an address is the same service however it is written, and another path or port is another one', () => {
    expectForAll(
      fc.property(parts, secret, secret, (shape, user, word) => {
        const address = written(shape);
        const normal = normalAddress(address);
        const other = address.replace('://', `://${user}:${word}@`).replace(shape.host, shape.host.toUpperCase());
        expect(normalAddress(`${other}/?token=${word}#${word}`)).toBe(normal);
        expect(normalAddress(normal ?? '')).toBe(normal);
        expect(normalAddress(`${address}/other`)).not.toBe(normal);
        expect(normalAddress(written({ ...shape, port: (shape.port ?? 8_000) === 9_999 ? 9_998 : 9_999 }))).not.toBe(
          normal,
        );
      }),
    );
  });

  it('G10: neither user nor password, query nor fragment is in it', () => {
    expectForAll(
      fc.property(parts, secret, (shape, word) => {
        const planted = written(shape).replace('://', `://${word}:${word}@`);
        const identity = serviceIdentity(`${planted}/?token=${word}#${word}`, undefined);
        expect(JSON.stringify(identity)).not.toContain(word);
        expect(identity?.key).toBe(identity?.address);
      }),
    );
  });

  it('service.id takes the place of the address, which is still known', () => {
    expect(serviceIdentity('https://PDS.example.com/', 'production')).toEqual({
      key: 'production',
      address: 'https://pds.example.com',
    });
    expect(serviceKeyOf(' production ')).toBe('production');
    expect(serviceKeyOf('https://PDS.example.com/')).toBe('https://pds.example.com');
    expect(() => serviceKeyOf('ftp://user:word@pds.example.com')).toThrow(UsageError);
  });
});
