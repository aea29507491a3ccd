/** Standard output that fails: a sentence and exit code 1. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Program } from '../../../src/cli/program.ts';
import type { TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, program, type CliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const hasFull = existsSync('/dev/full');
const full = 'the output could not be written: the disk is full\n';

let server: TestingServer;
let home: CliHome;

beforeAll(async () => {
  server = await startWithTenDays();
  home = await cliHome(server.url);
  await home.run(['export', 'daily-production', '--uwi', UWI, '--inline']);
});

afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await server.close();
});

test.skipIf(!hasFull).for(['runs list', 'runs list --json', '--help', '--version'])(
  `%s on a full disk ends with 1${hasFull ? '' : ' (skipped: this system has no /dev/full)'}`,
  async (command) => {
    const script = '"$0" "$@" > /dev/full; echo $?';
    const { stdout, stderr } = await promisify(execFile)(
      'sh',
      ['-c', script, process.execPath, program, ...command.split(' ')],
      {
        cwd: home.folder,
        env: home.env,
      },
    );
    expect({ stdout, stderr }).toEqual({ stdout: '1\n', stderr: `wellsync: ${full}` });
  },
);

test('the reason is named, whatever it is', async () => {
  const failing = (code: string): Writable =>
    new Writable({
      write: (_part, _encoding, done) => done(Object.assign(new Error(`${code}: it failed, write`), { code })),
    });
  for (const code of ['EIO', 'EFBIG', 'EDQUOT']) {
    let said = '';
    const stderr = new Writable({
      write(part, _encoding, done) {
        said += String(part);
        done();
      },
    });
    const context = {
      args: ['runs', 'list'],
      environment: home.env,
      stdin: Readable.from([]),
      stdout: failing(code),
      stderr,
    };
    expect(await new Program(context).run()).toBe(1);
    expect(said).toBe(`wellsync: the output could not be written: ${code}: it failed, write\n`);
  }
});
