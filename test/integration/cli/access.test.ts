/** Access to a service by configuration alone, over a real TLS connection. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { startScriptedServer, type RecordedRequest, type Reply } from '../../support/scripted-server.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';
import { createAuthority } from '../../support/tls-certificates.ts';

const clientSecret = 'c1ient-s3cret';
const passphrase = 'k3y-passphrase';
const token = 'a-t0ken-of-the-endpoint';
const authority = createAuthority();
const rows = januaryRows(3).map(({ uwi: _uwi, ...row }, index) => ({
  ...row,
  xid: `00000000-0000-4000-8000-00000000000${index}`,
}));

/** The token endpoint and the service, both behind the same certificate. */
function answer({ url, headers }: RecordedRequest): Reply {
  if (url === '/oauth/token') return { body: { access_token: token, token_type: 'Bearer', expires_in: 3600 } };
  if (headers.authorization !== `Bearer ${token}`) return { status: 401, body: { error: 'who is that?' } };
  return { body: new URL(url, 'https://service').searchParams.get('page') === '0' ? rows : [] };
}

async function startService() {
  return startScriptedServer(answer, {
    ...authority.certify('service'),
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
}

async function accessConfig(home: CliHome, baseUrl: string): Promise<string> {
  const certified = authority.certifySealed('wellsync', passphrase);
  const caFile = await home.write('ca.pem', authority.cert);
  const certFile = await home.write('client.pem', certified.cert);
  const keyFile = await home.write('client.key', certified.key);
  const passphraseFile = await home.write('passphrase', passphrase);
  const clientSecretFile = await home.write('client-secret', `${clientSecret}\n`);
  const oauth = { tokenUrl: `${baseUrl}/oauth/token`, clientId: 'wellsync', clientSecretFile, scope: 'read' };
  const tls = { caFile, certFile, keyFile, passphraseFile };
  return home.write('access.yaml', JSON.stringify({ service: { oauth, tls } }));
}

const exportOne = ['export', 'daily-production', '--uwi', UWI, '--inline'];

describe('access to the service', () => {
  test('G10: access by client credentials, client certificate and private authority shows no secret', async () => {
    await using service = await startService();
    await using home = await cliHome(service.baseUrl);
    const config = await accessConfig(home, service.baseUrl);
    const { stdout, stderr, code } = await home.run([...exportOne, '--config', config, '--log-level', 'trace']);
    expect(stdout).toContain('Done: 1 well.');
    expect(code).toBe(0);
    const doctor = await home.run(['doctor', '--config', config]);
    expect(doctor.stdout).toContain(`tokens by client credentials from ${service.baseUrl}/oauth/token`);
    expect(doctor.stdout).toMatch(/^ok +service/m);
    for (const secret of [clientSecret, passphrase, token]) {
      expect(stdout + stderr + doctor.stdout + doctor.stderr).not.toContain(secret);
    }
  });

  test('a certificate of an authority that nobody trusts is told before anything starts, with the setting', async () => {
    await using service = await startService();
    await using home = await cliHome(service.baseUrl);
    const { stderr, code } = await home.here(exportOne);
    expect(stderr).toContain('service.tls.caFile');
    expect(code).toBe(5);
  });

  test('files that are not there are all told before anything starts, each with its setting', async () => {
    await using service = await startWithTenDays();
    await using home = await cliHome(service.url);
    const config = await home.write(
      'lost.yaml',
      'service: { tokenFile: lost-token, tls: { caFile: lost-ca, certFile: lost-cert } }',
    );
    const { stderr, code } = await home.here([...exportOne, '--config', config]);
    expect(stderr).toContain(
      'WELLSYNC_SERVICE_TOKEN_FILE (service.tokenFile): the file lost-token cannot be read: there is no such file',
    );
    expect(stderr).toContain('service.tls.caFile: the file lost-ca cannot be read: there is no such file');
    expect(stderr).toContain('service.tls.certFile: the file lost-cert cannot be read: there is no such file');
    expect(code).toBe(2);
    expect(existsSync(home.warehouseFile)).toBe(false);
  });

  test.each([
    ['two ways to a token', '{ token: a, oauth: { tokenUrl: "https://t/", clientId: i, clientSecret: s } }', 'exclude'],
    ['credentials without a secret', '{ oauth: { tokenUrl: "https://t/", clientId: i } }', 'clientSecretFile'],
    ['a key without its certificate', '{ tls: { keyFile: k } }', 'certFile'],
    [
      'a token endpoint with a password',
      '{ oauth: { tokenUrl: "https://u:p@t/", clientId: i, clientSecret: s } }',
      'no user name',
    ],
  ])('%s: a fault of the configuration', async (_what, service, words) => {
    await using home = await cliHome('http://127.0.0.1:9');
    const config = await home.write('wrong.yaml', `service: ${service}`);
    const { stderr, code } = await home.here([...exportOne, '--config', config]);
    expect(stderr).toContain(words);
    expect(code).toBe(2);
  });

  test('a token of the environment takes the place of client credentials in the file', async () => {
    await using service = await startWithTenDays({ requiredToken: 'of-the-environment' });
    await using home = await cliHome(service.url);
    const config = await home.write(
      'oauth.yaml',
      'service: { oauth: { tokenUrl: "http://127.0.0.1:9/", clientId: i, clientSecret: s } }',
    );
    const env = { WELLSYNC_SERVICE_TOKEN: 'of-the-environment' };
    expect(await home.here([...exportOne, '--config', config], { env })).toMatchObject({ code: 0 });
  });
});
