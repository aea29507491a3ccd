/** Checks that the import rule can fail: every line of its tables, broken once in a temporary tree. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { brokenImports } from '../../scripts/import-rule.mjs';

/** The output of the rule for a tree with these files. */
async function verdictOn(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-import-rule-'));
  try {
    for (const folder of ['src', 'jobs', 'config']) await mkdir(path.join(root, folder));
    for (const [name, source] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(root, name)), { recursive: true });
      await writeFile(path.join(root, name), source);
    }
    return brokenImports(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

describe('the import rule', () => {
  test('takes the repository as it is', () => {
    expect(brokenImports('.')).toEqual([]);
  });

  test.each([
    ['src/core/a.ts', "import { b } from '../queue/b.ts';", 'src/core may not import src/queue'],
    ['src/core/a.ts', "import { b } from '../timers/b.ts';", 'src/core may not import src/timers'],
    ['src/core/a.ts', "import type { B } from '../warehouse/b.ts';", 'src/core may not import src/warehouse'],
    ['src/core/a.ts', "import { z } from 'zod';", 'the core is pure'],
    ['src/core/a.ts', "import { readFile } from 'node:fs';", 'the core is pure'],
    ['src/service/a.ts', "import type { B } from '../queue/b.ts';", 'src/service may not import src/queue'],
    [
      'src/warehouse/duckdb/a.ts',
      "export { b } from '../../service/b.ts';",
      'src/warehouse may not import src/service',
    ],
    ['src/queue/a.ts', "const b = await import('../runs/b.ts');", 'src/queue may not import src/runs'],
    ['src/runs/a.ts', "import { b } from '../queue/b.ts';", 'src/runs may import only types of src/queue'],
    ['src/runs/a.ts', "import '../queue/b.ts';", 'src/runs may import only types of src/queue'],
    ['src/runs/a.ts', "import { type B, c } from '../queue/b.ts';", 'src/runs may import only types of src/queue'],
    ['src/runs/a.ts', "import { b } from '../cli/b.ts';", 'src/runs may not import src/cli'],
    ['jobs/a.ts', "import { b } from '../src/service/b.ts';", 'jobs may import only types of src/service'],
    [
      'src/testing-server/a.ts',
      "import { b } from '../service/client.ts';",
      'src/testing-server may not import src/service',
    ],
    ['src/testing-server/a.ts', "import { b } from '../core/b.ts';", 'src/testing-server may not import src/core'],
    ['src/core/a.ts', "import { b } from '../../test/b.ts';", 'src/core may not import test/b.ts'],
    ['src/runs/a.ts', "import { Queue } from 'bullmq';", 'only src/queue imports bullmq'],
    ['src/runs/a.ts', "import type { Redis } from 'ioredis';", 'only src/queue imports ioredis'],
    ['src/testing-server/a.ts', "import { Pool } from 'undici';", 'only src/service imports undici'],
    [
      'src/runs/a.ts',
      "import { DuckDBInstance } from '@duckdb/node-api';",
      'only src/warehouse imports @duckdb/node-api',
    ],
    ['src/files/a.ts', "import { b } from '../pipes/b.ts';", 'src/files may not import src/pipes'],
    ['src/app/a.ts', "import { S3Client } from '@aws-sdk/client-s3';", 'only src/files imports @aws-sdk/client-s3'],
    ['src/app/a.ts', "import { Upload } from '@aws-sdk/lib-storage';", 'only src/files imports @aws-sdk/lib-storage'],
    ['src/cli/a.ts', "import { b } from '../queue/b.ts';", 'src/cli may not import src/queue'],
    ['src/cli/a.ts', "import type { B } from '../../jobs/b.ts';", 'src/cli may not import jobs'],
    ['src/app/a.ts', "import { b } from '../cli/b.ts';", 'src/app may not import src/cli'],
    ['jobs/a.ts', "import { Command } from 'commander';", 'only src/cli imports commander'],
    ['src/cli/a.ts', "import left from 'left-pad';", 'left-pad has no room yet'],
    ['src/elsewhere/a.ts', "import { b } from './b.ts';", 'the file lies in no room'],
  ])('refuses in %s: %s', async (file, source, reason) => {
    expect(await verdictOn({ [file]: `// A line before.\n${source}\n` })).toEqual([
      expect.stringMatching(new RegExp(`^${file}:2: ${reason}`)),
    ]);
  });

  test.each([
    ['src/core/a.ts', "import { b } from './b.ts';"],
    ['src/service/a.ts', "import { b } from '../core/b.ts';\nimport { Pool } from 'undici';\nimport { z } from 'zod';"],
    ['src/warehouse/duckdb/a.ts', "import { b } from '../../core/b.ts';\nimport { c } from '../c.ts';"],
    ['src/runs/a.ts', "import type { B } from '../queue/b.ts';\nimport { c } from '../core/c.ts';"],
    ['jobs/a.ts', "import type { B } from '../src/service/b.ts';\nimport { c } from '../src/runs/c.ts';"],
    [
      'src/testing-server/a.ts',
      "import { b } from '../service/contract.ts';\nimport { createServer } from 'node:http';",
    ],
    ['src/app/a.ts', "import { b } from '../queue/b.ts';\nimport { c } from '../../jobs/c.ts';"],
    ['src/cli/a.ts', "import { b } from '../app/b.ts';\nimport { c } from '../../config/c.ts';"],
  ])('allows in %s: %s', async (file, source) => {
    expect(await verdictOn({ [file]: source })).toEqual([]);
  });
});
