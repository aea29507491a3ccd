/** Compiled code that commands leave for later ones. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type CliHome, cliHome, program } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

interface Kept {
  readonly files: readonly string[];
  /** When each was written. */
  readonly writtenMs: readonly number[];
}

function keptIn(folder: string): Kept {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted();
  return { files, writtenMs: files.map((file) => statSync(file).mtimeMs) };
}

const longAgo = new Date('2020-01-01T00:00:00Z');

/** A home whose commands keep their code in `folder`. */
async function keepingHome(): Promise<CliHome & { readonly compiled: string; list(): Promise<string> }> {
  const home = await cliHome(undefined, { queue: 'embedded' });
  const caches = path.join(home.folder, 'caches');
  const list = async (): Promise<string> => {
    const { code, stdout, stderr } = await home.run(['--help'], { env: { XDG_CACHE_HOME: caches } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  return { ...home, compiled: path.join(caches, 'wellsync', 'compiled'), list };
}

test('is written once, and used from then on', async () => {
  await using home = await keepingHome();
  const first = await home.list();
  const kept = keptIn(home.compiled);
  expect(kept.files.length).toBeGreaterThan(0);
  expect(await home.list()).toBe(first);
  expect(keptIn(home.compiled)).toEqual(kept);
});

test.skipIf(!process.version.startsWith('v20.'))(
  'of a command that did not work is written again by one that does, until it has all that is called (Node keeps its own from 22.1 on)',
  async () => {
    await using service = await startWithTenDays({ latencyMs: 600 });
    await using home = await cliHome(service.url, { queue: 'embedded' });
    const compiled = path.join(home.folder, 'caches', 'wellsync', 'compiled');
    // What publishes is loaded last.
    const feed = path.join(home.folder, 'feed');
    mkdirSync(feed);
    const keptBy = async (args: readonly string[]): Promise<Kept> => {
      const env = { XDG_CACHE_HOME: path.join(home.folder, 'caches'), WELLSYNC_FEED_URL: feed };
      const { code, stderr } = await home.run(args, { env });
      expect(code, stderr).toBe(0);
      return keptIn(compiled);
    };
    const work = ['export', 'daily-production', '--uwi', UWI, '--json'];
    const early = await keptBy(['export', 'daily-production', '--help']);
    // The first one tells that what is kept lacks much; the first export of a well calls what the next ones do not, and the other
    // way around.
    await keptBy(work);
    const worked = await keptBy(work);
    const isWrittenAgain = early.files.map(
      (file, at) => (worked.writtenMs[worked.files.indexOf(file)] ?? 0) > (early.writtenMs[at] ?? 0),
    );
    expect(isWrittenAgain).toContain(true);
    const settled = await keptBy(work);
    expect(settled).toEqual(worked);
    expect(await keptBy(['export', 'daily-production', '--help'])).toEqual(settled);
  },
);

test('is not used for what imports something when it runs, as the client of S3', async () => {
  await using home = await keepingHome();
  const store = { AWS_ENDPOINT_URL: 'http://127.0.0.1:9', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key' };
  const env = {
    ...store,
    XDG_CACHE_HOME: path.join(home.folder, 'caches'),
    AWS_REGION: 'eu-north-1',
    WELLSYNC_FILES_URL: 's3://files',
  };
  for (const time of ['first', 'second']) {
    const { stdout, stderr } = await home.run(['doctor'], { env });
    expect(`${time}: ${stdout}${stderr}`).toContain('cannot be reached: nothing listens there');
  }
});

test('is for its user alone', async () => {
  await using home = await keepingHome();
  await home.list();
  for (const file of [home.compiled, ...keptIn(home.compiled).files]) expect(statSync(file).mode & 0o077).toBe(0);
});

test('that is torn is not run, and is written again', async () => {
  await using home = await keepingHome();
  const first = await home.list();
  const { files } = keptIn(home.compiled);
  for (const file of files) {
    truncateSync(file, Math.floor(statSync(file).size / 2));
    utimesSync(file, longAgo, longAgo);
  }
  expect(await home.list()).toBe(first);
  const again = keptIn(home.compiled);
  expect(again.files).toEqual(files);
  expect(Math.min(...again.writtenMs)).toBeGreaterThan(longAgo.getTime());
});

test('is not written where another user could have', async () => {
  await using home = await keepingHome();
  mkdirSync(home.compiled, { recursive: true, mode: 0o700 });
  for (const folder of [home.compiled, path.dirname(home.compiled), home.folder]) {
    chmodSync(folder, 0o777);
    await home.list();
    expect(keptIn(home.compiled).files).toEqual([]);
    chmodSync(folder, 0o700);
  }
});

test('is not written into the working folder where there is no home', async () => {
  await using home = await cliHome(undefined, { queue: 'embedded' });
  expect((await home.run(['--version'], { env: { HOME: '' } })).code).toBe(0);
  expect(readdirSync(home.folder)).toEqual([]);
});

test.skipIf(!process.version.startsWith('v20.'))(
  'of other code in the same file is not run (Node keeps its own from 22.1 on)',
  async () => {
    await using home = await keepingHome();
    const copy = path.join(home.folder, 'dist', 'program');
    cpSync(path.resolve(path.dirname(program), '../../program'), copy, { recursive: true });
    const env = { XDG_CACHE_HOME: path.join(home.folder, 'caches') };
    const help = async () =>
      (await promisify(execFile)(process.execPath, [path.join(copy, 'main.cjs'), '--help'], { env })).stdout;
    expect(await help()).toContain('list, show, cancel');
    for (const name of readdirSync(copy).filter((each) => each.endsWith('.cjs'))) {
      const file = path.join(copy, name);
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('list, show, cancel', 'LIST, SHOW, CANCEL'));
    }
    expect(await help()).toContain('LIST, SHOW, CANCEL');
  },
);

test('cannot be kept where the folder for caches is a file: commands run all the same', async () => {
  await using home = await keepingHome();
  writeFileSync(path.join(home.folder, 'caches'), '');
  expect(await home.list()).toContain('wellsync');
});

test.skipIf(!process.version.startsWith('v20.'))(
  'that was not written for a month is removed (Node keeps its own from 22.1 on)',
  async () => {
    await using home = await keepingHome();
    mkdirSync(path.join(home.compiled, 'v8-1'), { recursive: true, mode: 0o700 });
    const old = path.join(home.compiled, 'v8-1', 'old');
    writeFileSync(old, '');
    utimesSync(old, longAgo, longAgo);
    await home.list();
    expect(keptIn(home.compiled).files).not.toContain(old);
  },
);
