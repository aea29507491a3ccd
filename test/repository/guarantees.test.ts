/**
 * Holds docs/guarantees.md, docs/guarantees-tests.md and the tests together. A guarantee is a heading, `## G4 …`, and a row of
 * the table above; a test that enforces it names it in its title: `G4: a truncated read removes nothing`.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  guaranteeTests,
  guaranteeTestsDocument,
  guaranteeTestsFile,
  titlesWithIds,
} from '../../scripts/guarantee-tests.mjs';
import { guaranteeIdsOf } from '../support/citations.ts';

const ids = Array.from({ length: 11 }, (_, index) => `G${index + 1}`);
const document = readFileSync('docs/guarantees.md', 'utf8');
const tests = guaranteeTests();

test('docs/guarantees.md states every guarantee once, in order, in its table and below', () => {
  expect([...document.matchAll(/^## (G\d+) /gm)].map(([, id]) => id)).toEqual(ids);
  expect([...guaranteeIdsOf(document)]).toEqual(ids);
  expect([...document.matchAll(/^\| \*\*(G\d+)\*\* /gm)].map(([, id]) => id)).toEqual(ids);
});

test.each(ids)('%s is enforced by tests', (id) => {
  expect(tests.filter((each) => each.ids.includes(id))).not.toEqual([]);
});

test('a title names no guarantee that is not stated', () => {
  expect(tests.flatMap((each) => each.ids).filter((id) => !ids.includes(id))).toEqual([]);
});

test('docs/guarantees-tests.md names every test of a guarantee, and no other: npm run guarantees writes it', () => {
  expect(readFileSync(guaranteeTestsFile, 'utf8').split('\n')).toEqual(guaranteeTestsDocument(tests).split('\n'));
});

// Spelled so that this file has no title of its own.
const [first, second] = ['G1', 'G2'] as const;

test('titles are read from each form of a test, and a test without an id is left out', () => {
  const source = `test('${first}, ${second}: it\\'s so', f);\n[\n  "${second}: %s",\n];\ntest('no id', f);\n`;
  expect(titlesWithIds(source)).toEqual([`${first}, ${second}: it's so`, `${second}: %s`]);
  const listed = { file: 'test/a.test.ts', title: `${first}, ${second}: a`, ids: [first, second] };
  const item = `- \`test/a.test.ts\`: ${listed.title}`;
  expect(guaranteeTestsDocument([listed])).toMatch(new RegExp(`\n## G1\n\n${item}\n\n## G2\n\n${item}\n$`));
});
