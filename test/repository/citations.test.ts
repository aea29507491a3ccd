/**
 * Checks that everything cited in code and documents (documents, sections, decisions, guarantees) exists in the
 * repository.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { danglingCitations, findCitations, sectionsOf } from '../support/citations.ts';

const folders = ['src', 'jobs', 'config', 'test', 'scripts', 'bench', 'docs', 'deploy'];
const textFile = /\.(?:tsx?|mjs|md|ya?ml)$/;
/** Cites missing targets on purpose. */
const thisFile = 'test/repository/citations.test.ts';

function repositoryFiles(): ReadonlyMap<string, string> {
  const inFolders = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.posix.join(folder, name)),
  );
  const names = [...readdirSync('.'), ...inFolders].filter((name) => textFile.test(name) && name !== thisFile);
  return new Map(names.map((name) => [name, readFileSync(name, 'utf8')]));
}

const files = repositoryFiles();

test('everything that is cited is in the repository', () => {
  expect(danglingCitations(files)).toEqual([]);
});

test.each(['docs/design.md', 'docs/interface.md', 'docs/queue.md'])('the code cites sections of %s', (document) => {
  const inCode = findCitations(files).filter(({ file }) => file.startsWith('src/'));
  expect(inCode.map(({ target }) => target)).toContainEqual(expect.stringContaining(`${document} section `));
});

const madeUp = [
  ['docs/design.md', '# Design\n\n## 1. What it is\n\n## 4. Jobs\n\n### 4.1 Export\n\nSee section 4.\n'],
  ['docs/guarantees.md', '# Guarantees\n\n## G1 Repeating\n\n- G1: a test\n'],
  ['docs/decisions/0001-a-run.md', '# 1. A run\n'],
] as const;

function danglingIn(file: string, text: string): readonly string[] {
  return danglingCitations(new Map([...madeUp, [file, text]]));
}

test('sections are the numbers of headings', () => {
  expect([...sectionsOf(madeUp[0][1])]).toEqual(['1', '4', '4.1']);
});

test.each([
  ['a section', '/** By docs/design.md section 4.1. */'],
  ['a section over two lines', '/**\n * By the rules (docs/design.md\n * section 4.1).\n */'],
  ['a section after // over two lines', '// By docs/design.md section\n// 4.1'],
  ['several sections', '// docs/design.md sections 1, 4 and 4.1'],
  ['a range', '// docs/design.md sections 1 to 4'],
  ['a section before its document', '// section 4 of docs/design.md'],
  ['a section of an RFC', '// RFC 6749 section 99'],
  ['a document', '// docs/design.md'],
  ['a decision', '// decision 1, docs/decisions/0001-a-run.md'],
  ['a guarantee', '// at least once (G1)'],
  ['a file of code', '// as in src/a.ts, by its end a.ts, from ../src/a.ts'],
  ['a file of code in code', "import { a } from './absent.ts';"],
  ['the pattern of a name', '// NNNN-what-was-decided.md, /.*\\.md$/'],
])('%s that exists is no fault', (_, text) => {
  expect(danglingIn('src/a.ts', text)).toEqual([]);
});

test.each([
  ['a section', '/** By docs/design.md section 4.2. */', 'src/a.ts:1: docs/design.md section 4.2: no such section'],
  [
    'a section over two lines',
    '\n/**\n * By the rules (docs/design.md\n * section 12).\n */',
    'src/a.ts:4: docs/design.md section 12: no such section',
  ],
  [
    'the second of two sections',
    '// docs/design.md sections 1 and 2',
    'src/a.ts:1: docs/design.md section 2: no such section',
  ],
  ['the end of a range', '// docs/design.md sections 1 to 6', 'src/a.ts:1: docs/design.md section 6: no such section'],
  [
    'a section before its document',
    '// section 5 of docs/design.md',
    'src/a.ts:1: docs/design.md section 5: no such section',
  ],
  ['a section without a document', '// as section 4 says', 'src/a.ts:1: section 4: of which document?'],
  ['a document', '// see ABSENT.md section 4', 'src/a.ts:1: ABSENT.md: no such document'],
  ['a decision', '// (G1; decision 4)', 'src/a.ts:1: decision 4: no such decision'],
  ['a guarantee', '// loses nothing (G7)', 'src/a.ts:1: G7: no such guarantee'],
  ['a file of code', '\n/** As absent.ts does. */', 'src/a.ts:2: absent.ts: no such file'],
])('%s that does not exist is found', (_, text, fault) => {
  expect(danglingIn('src/a.ts', text)).toEqual([fault]);
});

test('a document is held to its own sections and to the headings that its links name', () => {
  const text =
    '## 1. One\n\nSection 1, section 3, [design](design.md#4-jobs), [none](design.md#5-none), [own](#1-one)\n';
  expect(danglingIn('docs/other.md', text)).toEqual([
    'docs/other.md:3: docs/other.md section 3: no such section',
    'docs/other.md:3: docs/design.md#5-none: no such heading',
  ]);
});
