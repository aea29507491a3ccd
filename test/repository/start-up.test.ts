/** Quick commands load little: measured in modules, since times differ by machine. */
import { isAscii } from 'node:buffer';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { program } from '../support/cli.ts';

/** The packages in each file of the bundled program (scripts/setup/bundle.mjs). */
const bundled = JSON.parse(await readFile('dist/program/packages.json', 'utf8')) as Record<string, readonly string[]>;

/** The exit code of the command line for these arguments, and the packages that it imported. */
async function packagesLoadedBy(words: readonly string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-start-up-'));
  const record = path.join(folder, 'imports');
  try {
    const code = await exitCodeOf(words, record);
    const urls = (await readFile(record, 'utf8')).split('\n');
    const packages = urls.flatMap((url) => packagesOf(url));
    return { code, packages: [...new Set(packages)].toSorted() };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A package that stands alone, or those in a file of the bundled program. */
function packagesOf(url: string): readonly string[] {
  const [, alone] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  const [, file] = /\/dist\/program\/([^/]+)$/.exec(url) ?? [];
  return alone === undefined ? (bundled[file ?? ''] ?? []) : [alone];
}

function exitCodeOf(words: readonly string[], record: string): Promise<number> {
  const hook = path.resolve('test/support/record-imports.mjs');
  const env = { PATH: process.env['PATH'], RECORDED_IMPORTS: record };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', hook, program, ...words], { env }, (error) =>
      resolve(error === null ? 0 : Number(error.code)),
    );
  });
}

test('the program is ASCII alone, as which it is read (src/cli/process/compile-cache.ts)', async () => {
  for (const file of Object.keys(bundled)) {
    expect(isAscii(await readFile(`dist/program/${file}`)), file).toBe(true);
  }
});

/** What folds text, with what it brings along. */
const foldingPackages = ['fast-wrap-ansi', 'fast-string-width', 'fast-string-truncated-width'];

describe('the command line', () => {
  test('records what a command imports', async () => {
    const { packages } = await packagesLoadedBy(['doctor', '--config', 'no-such-file.yaml', '--json']);
    expect(packages).toContain('zod');
  });

  test.each([
    '--help',
    '--version',
    'worker --help',
    'export daily-production --help',
    'push network-pipes --help',
    'cleanup --help',
    'runs list --help',
    'doctor --help',
  ])('loads commander and no other package for: wellsync %s', async (words) => {
    expect(await packagesLoadedBy(words.split(' '))).toEqual({ code: 0, packages: ['commander'] });
  });

  test.each([
    '--bogus',
    'no-such-command',
    'worker --bogus',
    'worker --queues nothing',
    'doctor --bogus',
    'export daily-production --bogus',
    'export time-series --bogus',
    'push network-pipes',
    'push network-pipes pipes.csv --chunk-items none',
    'cleanup micro-strings --bogus',
    'runs show',
    'runs list --state nothing',
    'coverage --bogus',
    'restatements --bogus',
    'query',
    'audit verify --bogus',
    'probe --bogus',
    'service moved',
    'testing-server --bogus',
    'testing-server --port many',
  ])('loads commander and what folds text for: wellsync %s', async (words) => {
    const { code, packages } = await packagesLoadedBy(words.split(' '));
    expect(code).toBe(2);
    expect(packages.filter((name) => !foldingPackages.includes(name))).toEqual(['commander']);
  });

  test('loads every package as a part of the bundle, but for native code and what a browser loads', async () => {
    const held = Object.values(bundled).flat();
    const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as { dependencies: object };
    expect(Object.keys(dependencies).filter((name) => !held.includes(name))).toEqual([
      '@bull-board/api',
      '@bull-board/fastify',
      '@bull-board/ui',
      '@duckdb/node-bindings',
      'uplot',
    ]);
  });

  test('loads no queue, log, bar or client for wellsync runs list', async () => {
    const { code, packages } = await packagesLoadedBy(['runs', 'list', '--json']);
    expect(code).toBe(5);
    expect(packages).toContain('zod');
    expect(packages).toContain('@duckdb/node-api');
    const unneeded = ['bullmq', 'ioredis', 'undici', 'pino', 'cli-progress', 'cli-table3'];
    expect(packages.filter((name) => unneeded.includes(name))).toEqual([]);
  });
});
