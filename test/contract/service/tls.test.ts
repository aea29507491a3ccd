import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WellsyncError } from '../../../src/core/base/errors.ts';
import type { TlsSettings } from '../../../src/service/settings.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { rejectionOf, serviceAt } from '../../support/service-under-test.ts';
import { createAuthority } from '../../support/tls-certificates.ts';

const passphrase = 's3cret-passphrase';
const authority = createAuthority();
const stranger = createAuthority('stranger');
const server = authority.certify('service');

let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wellsync-tls-'));
  const sealed = authority.certifySealed('wellsync', passphrase);
  const open = authority.certify('wellsync');
  const files = {
    'ca.pem': authority.cert,
    'stranger.pem': stranger.cert,
    'client.pem': sealed.cert,
    'client.key': sealed.key,
    'both.pem': `${open.cert}${open.key}`,
    passphrase: `${passphrase}\n`,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(file(name), text);
});
afterAll(() => rm(folder, { recursive: true }));

/** The records of one call to a TLS server. */
async function call(
  tls: TlsSettings | undefined,
  options: { readonly wantsClient?: boolean; readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3' } = {},
) {
  const { wantsClient = false, ...versions } = options;
  const wanted = { ...versions, requestCert: wantsClient, rejectUnauthorized: wantsClient, ca: authority.cert };
  await using https = await startScriptedServer([{ body: [1] }], { ...server, ...wanted });
  await using client = serviceAt(https.baseUrl, { tls });
  return (await client.service.fetchDailyProductionPage({ uwi: 'W' })).records;
}

describe('a private authority', () => {
  it('a private authority is trusted when its file is configured', async () => {
    expect(await call({ caFile: file('ca.pem') })).toEqual([1]);
  });

  it.each([
    ['no authority is configured', undefined],
    ['another one is configured', 'stranger.pem'],
  ])('a private authority is not trusted when %s', async (_name, caFile) => {
    const tls = caFile === undefined ? undefined : { caFile: file(caFile) };
    expect(await rejectionOf(call(tls))).toMatchObject({ name: 'AccessError', code: 'tls' });
  });
});

it('an authority file without a certificate is an AccessError that names the file', async () => {
  const caFile = file('passphrase');
  const error = await rejectionOf(call({ caFile }));
  expect(error).toMatchObject({ name: 'AccessError', message: `${caFile} (service.tls.caFile) holds no certificate` });
});

describe('a client certificate', () => {
  it('a client certificate is sent, its key encrypted with a passphrase from a file', async () => {
    const secrets = { passphrase: { kind: 'file', path: file('passphrase') } } as const;
    const tls = { caFile: file('ca.pem'), certFile: file('client.pem'), keyFile: file('client.key'), ...secrets };
    expect(await call(tls, { wantsClient: true })).toEqual([1]);
  });

  it('a client certificate may share a file with its key', async () => {
    expect(await call({ caFile: file('ca.pem'), certFile: file('both.pem') }, { wantsClient: true })).toEqual([1]);
  });

  it('a missing client certificate fails the call, with an AccessError when TLS gives the reason', async () => {
    const errorOf = async (maxVersion: 'TLSv1.2' | 'TLSv1.3') =>
      rejectionOf(call({ caFile: file('ca.pem') }, { wantsClient: true, maxVersion }));
    expect(await errorOf('TLSv1.2')).toMatchObject({ name: 'AccessError', code: 'tls' });
    expect(await errorOf('TLSv1.3')).toBeInstanceOf(WellsyncError);
  });

  it.each<readonly [string, () => TlsSettings, string]>([
    ['a missing file', () => ({ certFile: file('nowhere.pem') }), 'nowhere.pem cannot be read: there is no such file'],
    ['a file without a certificate', () => ({ certFile: file('passphrase') }), 'no connection can be made with'],
    [
      'a wrong passphrase',
      () => ({
        certFile: file('client.pem'),
        keyFile: file('client.key'),
        passphrase: { kind: 'value', value: 's3cret-wrong' },
      }),
      'no connection can be made with',
    ],
  ])(
    'G10: a client certificate with %s is an AccessError that names the file and no secret',
    async (_name, tls, words) => {
      const error = await rejectionOf(call(tls()));
      expect(error).toMatchObject({ name: 'AccessError', code: 'access-file' });
      expect(String(error)).toContain(words);
      expect(JSON.stringify([error, String(error)])).not.toContain('s3cret');
    },
  );
});

it('the token endpoint is called with the same authority and certificate', async () => {
  const names: (string | undefined)[] = [];
  const secured = { ...server, requestCert: true, rejectUnauthorized: true, ca: authority.cert };
  await using endpoint = await startScriptedServer([{ body: { access_token: 'abc', expires_in: 60 } }], secured);
  await using service = await startScriptedServer((request) => {
    names.push(request.headers.authorization);
    return { body: [] };
  }, secured);
  const token = {
    kind: 'client-credentials',
    tokenUrl: `${endpoint.baseUrl}/oauth/token`,
    clientId: 'wellsync',
    clientSecret: { kind: 'value', value: 's3cret' },
  } as const;
  const tls = { caFile: file('ca.pem'), certFile: file('both.pem') };
  await using client = serviceAt(service.baseUrl, { token, tls });
  await client.service.fetchDailyProductionPage({ uwi: 'W' });
  expect(names).toEqual(['Bearer abc']);
});
