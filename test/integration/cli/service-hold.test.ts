/** A service that asks all to wait (Retry-After): what an operator sees of it, and how the hold is lifted. */
import { describe, expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';

interface Failure {
  readonly code: string;
  readonly target: string;
  readonly message: string;
  readonly hint: string;
}

const asksUntil2090 = { status: 503, headers: { 'retry-after': 'Wed, 01 Nov 2090 00:00:00 GMT' } };
const words = /the service asked all to wait until 2090-11-01 00:0\d:\d\dZ, longer than queue\.maxHoldMs/;

function exportOf(...wells: readonly string[]): readonly string[] {
  return ['export', 'daily-production', ...wells.flatMap((well) => ['--uwi', well])];
}

/** Lines of standard output with this text. */
function linesWith(text: string, output: string): readonly string[] {
  return output.split('\n').filter((line) => line.includes(text));
}

describe('a service that asks all to wait until 2090', () => {
  test('G9: ends the units with the time that it asked for, and gets no other request', async () => {
    await using server = await startScriptedServer([asksUntil2090]);
    await using home = await cliHome(server.baseUrl, { config: 'service: {concurrency: 1}\n' });
    const { code: exitCode, stdout, stderr } = await home.here([...exportOf('W1', 'W2', 'W3'), '--inline', '--json']);
    expect(exitCode).toBe(5);
    const { failures } = JSON.parse(stdout) as { readonly failures: readonly Failure[] };
    expect(failures.map(({ code, target }) => [code, target])).toEqual([
      ['service-hold', 'W1'],
      ['service-hold', 'W2'],
      ['service-hold', 'W3'],
    ]);
    for (const { message, hint } of failures) {
      expect(message).toMatch(words);
      expect(hint).toMatch(/^Requests go again in (1 h 00|59) min.*wellsync service release$/);
    }
    expect(linesWith('asked all to wait', stderr).filter((line) => !line.includes(': failed:'))).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
  });

  test('is told by doctor, and by a probe that ends at once, until the hold is lifted', async () => {
    await using server = await startScriptedServer([asksUntil2090]);
    await using home = await cliHome(server.baseUrl);
    for (let probe = 0; probe < 2; probe += 1) {
      const { code, stdout, stderr } = await home.here(['probe', '--uwi', 'W1']);
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
      expect(linesWith('the service asked all to wait', stderr.replaceAll(/\s+/g, ' '))).toHaveLength(1);
    }
    expect(server.requests).toHaveLength(1);
    const doctor = await home.here(['doctor', '--json']);
    const { findings } = JSON.parse(doctor.stdout) as { readonly findings: ReadonlyArray<{ readonly part: string }> };
    expect(findings.find(({ part }) => part === 'hold')).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(words) as string,
      hint: 'To send requests before: wellsync service release',
    });

    const dryRun = await home.here(['service', 'release', '--dry-run', '--json']);
    expect(JSON.parse(dryRun.stdout)).toMatchObject({
      hold: { askedUntil: expect.stringMatching(/^2090-11-01T00:0/) as string, isTooLong: true },
      dryRun: true,
    });
    const released = await home.here(['service', 'release']);
    expect(released).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^The service asked all.*\nThe hold is lifted/) as string,
    });
    expect((await home.here(['service', 'release'])).stdout).toBe('No hold: requests may be sent.\n');
    expect((await home.here(['doctor'])).stdout).not.toContain('hold');
    await home.here(['probe', '--uwi', 'W1']);
    expect(server.requests).toHaveLength(2);
  });
});

test('runs show tells the hold that a run waits for', async () => {
  await using server = await startScriptedServer([{ status: 429, headers: { 'retry-after': '600' } }]);
  await using home = await cliHome(server.baseUrl);
  expect((await home.here(['probe', '--uwi', 'W1'])).code).toBe(5);
  const queued = await home.here([...exportOf('W1'), '--json']);
  const { runId } = JSON.parse(queued.stdout) as { readonly runId: string };
  const shown = await home.here(['runs', 'show', runId]);
  expect(shown.stdout).toMatch(/^On hold: the service asked all to wait until \S+ \S+Z\. .*wellsync service release$/m);
  const document = JSON.parse((await home.here(['runs', 'show', runId, '--json'])).stdout) as {
    readonly hold: unknown;
  };
  expect(document.hold).toMatchObject({ isTooLong: false });
});
