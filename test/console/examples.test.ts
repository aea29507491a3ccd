/** The examples of docs/api.md, run as they are written, against `wellsync serve` itself. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { issueToken } from '../../src/app/access/access.ts';
import { smallField } from '../support/cleanup-cli.ts';
import { cliHome } from '../support/cli.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';

const document = readFileSync('docs/api.md', 'utf8');
const examples = [...document.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function bash(script: string, environment: Readonly<Record<string, string>>, cwd: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile('bash', ['--norc', '-eu', '-c', script], { env: environment, cwd }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** A schedule that is due in no test. */
const nightly = `{ cron: "0 0 29 2 *", timeZone: UTC, job: export daily-production, parameters: { wells: ["${UWI}"] } }`;
const settings = `cleanup: { maxShareOfWellsPercent: 100 }\nschedules: { revision: 1, entries: { nightly: ${nightly} } }\n`;

test('every example of docs/api.md runs as it stands, and is answered without an error', async () => {
  await using service = await startWithTenDays({ assets: smallField() });
  const name = { name: 'examples', role: 'operate' } as const;
  const { token, entry } = issueToken(name, { nowMs: Date.now(), names: { expires: 'expires' } });
  await using home = await cliHome(service.url, {
    config: `${settings}http: { tokens: [{ name: examples, role: operate, sha256: ${entry.sha256} }] }\n`,
  });
  const server = home.start(['serve', '--port', '0', '--json']);
  await server.hears('"url"');
  const announced = server
    .said()
    .split('\n')
    .find((line) => line.startsWith('{"url"'));
  const { url } = z.object({ url: z.string(), works: z.literal(true) }).parse(JSON.parse(announced ?? '{}'));
  const environment = { PATH: process.env['PATH'] ?? '', WELLSYNC: url, TOKEN: token };
  expect(examples.length).toBeGreaterThan(5);
  // They build on each other, as a reader runs them; each answer that is an error would say so.
  const { code, stdout, stderr } = await bash(examples.join('\nsleep 0.1\n'), environment, home.folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const answers = stdout.matchAll(/"status":(\d{3}),"detail":"([^"]*)/g);
  // Whether the run has ended when its report is asked for, its cancelling or its retry, is the machine's affair.
  const wrong = [...answers]
    .filter(([, status]) => status !== '409')
    .map(([, status, detail]) => `${status} ${detail}`);
  expect(wrong).toEqual([]);
  expect(stdout).not.toContain(token);
  server.signal('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
  await vi.waitFor(async () => expect(await fetch(url).catch(() => 'gone')).toBe('gone'), { timeout: 60_000 });
});
