/** Tokens of the HTTP API: made, put into the configuration, and told of before they end. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../config/load.ts';
import { Access } from '../../../src/app/access/access.ts';
import { cliHome } from '../../support/cli.ts';

const dayIn = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe('token create', () => {
  test.each([[[]], [['--expires', '2999-12-31']]])('with %j shows a line that lets the token in', async (flags) => {
    await using home = await cliHome('http://127.0.0.1:9');
    const { stdout, code } = await home.here(['token', 'create', 'nightly', '--role', 'operate', ...flags]);
    expect(code).toBe(0);
    const token = /wst_\S+/.exec(stdout)?.[0] ?? '';
    const file = await home.write('wellsync.yaml', stdout.slice(stdout.indexOf('http:')));
    const { http } = loadConfig({ environment: { WELLSYNC_CONFIG: file } });
    const caller = { headers: { authorization: `Bearer ${token}` }, remoteAddress: '127.0.0.1', isChange: false };
    expect(new Access(() => http).identify(caller)).toMatchObject({ actor: 'nightly (token)', role: 'operate' });
    expect(http.tokens[0]?.expires).toBe(flags[1]);
    if (flags.length > 0) expect(stdout).toContain('until the end of 2999-12-31 (UTC)');
  });

  test.each(['2020-01-01', '2027-02-30', '31.01.2027', '90d'])('refuses the last day %s, with words', async (day) => {
    await using home = await cliHome('http://127.0.0.1:9');
    const { stdout, stderr, code } = await home.here(['token', 'create', 'a', '--role', 'read', '--expires', day]);
    expect([stdout, code]).toEqual(['', 2]);
    expect(stderr).toMatch(/is no day|is over/);
  });
});

test('a last day that is none is a fault of the configuration', async () => {
  await using home = await cliHome('http://127.0.0.1:9');
  const sha256 = 'a'.repeat(64);
  for (const expires of ['2027-02-30', '2027-01-31T12:00:00Z', '31.01.2027']) {
    const file = await home.write(
      'wrong.yaml',
      `http: { tokens: [{ name: a, role: read, sha256: ${sha256}, expires: ${JSON.stringify(expires)} }] }`,
    );
    const { stderr, code } = await home.here(['token', 'create', 'b', '--role', 'read', '--config', file]);
    const { stderr: told, code: refused } = await home.here(['runs', 'list', '--config', file]);
    expect([code, stderr, refused]).toEqual([0, '', 2]);
    expect(told).toContain('must be the last day of the token, such as 2027-01-31');
  }
});

test('doctor tells of tokens that have ended, or will within 14 days', async () => {
  await using home = await cliHome('http://127.0.0.1:9');
  const tokens = { gone: dayIn(-1), today: dayIn(0), soon: dayIn(13), later: dayIn(14) };
  const lines = Object.entries(tokens).map(
    ([name, expires], index) =>
      `    - { name: ${name}, role: read, sha256: ${'abcd'[index]?.repeat(64) ?? ''}, expires: ${expires} }`,
  );
  const endless = `    - { name: endless, role: read, sha256: ${'f'.repeat(64)} }`;
  const config = await home.write('wellsync.yaml', ['http:', '  tokens:', ...lines, endless].join('\n'));
  const { stdout } = await home.here(['doctor', '--json', '--config', config]);
  const found = z
    .object({
      findings: z.array(
        z.object({ part: z.string(), status: z.string(), message: z.string(), hint: z.string().nullable() }),
      ),
    })
    .parse(JSON.parse(stdout))
    .findings.filter(({ part }) => part === 'tokens');
  expect(found.map(({ status, message }) => [status, message])).toEqual([
    ['warning', `the token gone of http.tokens expired with ${tokens.gone} (UTC): it lets nobody in`],
    ['warning', `the token today of http.tokens expires with ${tokens.today} (UTC), today`],
    ['warning', `the token soon of http.tokens expires with ${tokens.soon} (UTC), in 13 days`],
  ]);
  expect(found[0]?.hint).toContain('wellsync token create gone --role read --expires DAY');
});
