/** Checks that the linter, as configured here, refuses what a worker cannot afford. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';

const programs = path.resolve('node_modules/.bin');
const linter = path.join(programs, 'oxlint');
// From a tree elsewhere the linter finds its type-aware half on the PATH alone.
const env = { ...process.env, PATH: `${programs}${path.delimiter}${process.env['PATH'] ?? ''}` };
const configuration = path.resolve('.oxlintrc.json');

const tsconfig = JSON.stringify({
  compilerOptions: {
    strict: true,
    module: 'nodenext',
    target: 'es2023',
    allowImportingTsExtensions: true,
    noEmit: true,
  },
});

/** The rules that a tree with these files breaks, each once. */
async function rulesBrokenBy(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const root = await mkdtemp(path.join(tmpdir(), 'wellsync-lint-'));
  try {
    for (const [name, text] of Object.entries({ 'tsconfig.json': tsconfig, ...files })) {
      await writeFile(path.join(root, name), text);
    }
    const output = await new Promise<string>((resolve) => {
      execFile(linter, ['--type-aware', '--format=json', '-c', configuration, '.'], { cwd: root, env }, (_, stdout) => {
        resolve(stdout);
      });
    });
    const { diagnostics } = JSON.parse(output) as { readonly diagnostics: ReadonlyArray<{ readonly code: string }> };
    return [...new Set(diagnostics.map((diagnostic) => diagnostic.code))];
  } finally {
    await rm(root, { recursive: true });
  }
}

test('a cycle of value imports is refused', async () => {
  const broken = await rulesBrokenBy({
    'a.ts': "import { b } from './b.ts';\nexport const a = (): number => b() + 1;\n",
    'b.ts': "import { a } from './a.ts';\nexport const b = (): number => a() + 1;\n",
  });
  expect(broken).toEqual(['import(no-cycle)']);
});

test('a cycle that only types close is refused', async () => {
  const broken = await rulesBrokenBy({
    'a.ts': "import type { B } from './b.ts';\nexport interface A {\n  readonly b: B | undefined;\n}\n",
    'b.ts': "import type { A } from './a.ts';\nexport interface B {\n  readonly a: A | undefined;\n}\n",
  });
  expect(broken).toEqual(['import(no-cycle)']);
});

test.each([
  [
    'a promise that nobody awaits',
    'declare function work(): Promise<void>;\nwork();\nexport {};\n',
    'no-floating-promises',
  ],
  [
    'a promise where a condition is asked for',
    'declare function work(): Promise<boolean>;\nif (work()) throw new Error("a");\nexport {};\n',
    'no-misused-promises',
  ],
  [
    'a switch that forgets a case',
    "export function f(state: 'open' | 'done'): number {\n  switch (state) {\n    case 'open':\n      return 1;\n  }\n  return 0;\n}\n",
    'switch-exhaustiveness-check',
  ],
  ['an any', 'export function f(value: any): unknown {\n  return value;\n}\n', 'no-explicit-any'],
  ['a value import of a type', "import { Stats } from 'node:fs';\nexport type S = Stats;\n", 'consistent-type-imports'],
  [
    'a timer that ends at once when it is long',
    'export function f(end: () => void): void {\n  setTimeout(end, 1);\n}\n',
    'no-restricted-globals',
  ],
  [
    'a sleep that ends at once when it is long',
    "export { setTimeout as sleep } from 'node:timers/promises';\n",
    'no-restricted-imports',
  ],
  ['a word on the console', "console.log('here');\n", 'no-console'],
])('%s is refused', async (_, source, rule) => {
  expect(await rulesBrokenBy({ 'a.ts': source })).toContainEqual(expect.stringContaining(rule));
});
