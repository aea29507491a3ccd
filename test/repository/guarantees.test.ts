/**
 * Holds docs/guarantees.md and the tests together, both ways. In that document a guarantee is a heading, `## G4 …`, and a
 * test that enforces it is a list item below: - `test/unit/core/daily/merge.test.ts`: G4: a truncated read removes nothing
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

const ids = Array.from({ length: 11 }, (_, index) => `G${index + 1}`);

interface Guarantee {
  readonly id: string;
  readonly tests: ReadonlyArray<{ readonly file: string; readonly title: string }>;
}

function guaranteesIn(document: string): readonly Guarantee[] {
  return document
    .split(/^## (?=G\d+\b)/m)
    .slice(1)
    .map((section) => ({
      id: /^G\d+/.exec(section)?.[0] ?? '',
      tests: [...section.matchAll(/^- `(test\/[^`]+)`: (.+)$/gm)].map(([, file = '', title = '']) => ({ file, title })),
    }));
}

function testSources(): readonly string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join('test', name));
}

/** Every string of a source that opens with ids, as the title of a test does: "G1, G3: …". */
function titlesWithIds(source: string): readonly string[] {
  return [...source.matchAll(/['"`]((?:G\d+, )*G\d+: [^\n]*?)(?<!\\)['"`]\s*,/g)].map(([, title = '']) =>
    title.replaceAll("\\'", "'"),
  );
}

const guarantees = guaranteesIn(readFileSync('docs/guarantees.md', 'utf8'));
const titlesByFile = new Map(testSources().map((file) => [file, titlesWithIds(readFileSync(file, 'utf8'))]));
const allTitles = [...titlesByFile.values()].flat();

function idsOf(title: string): readonly string[] {
  return (title.split(':')[0] ?? '').split(', ');
}

test('docs/guarantees.md states every guarantee once, in order', () => {
  expect(guarantees.map((guarantee) => guarantee.id)).toEqual(ids);
});

describe.each(ids)('%s', (id) => {
  const tests = guarantees.find((guarantee) => guarantee.id === id)?.tests ?? [];

  test('is enforced by a test that docs/guarantees.md names', () => {
    expect(tests).not.toEqual([]);
  });

  test('names only tests that exist and carry its id', () => {
    const missing = tests.filter(({ file, title }) => {
      return !existsSync(file) || !titlesByFile.get(file)?.includes(title) || !idsOf(title).includes(id);
    });
    expect(missing).toEqual([]);
  });

  test('occurs in the title of a test', () => {
    expect(allTitles.filter((title) => idsOf(title).includes(id))).not.toEqual([]);
  });
});

test('a title names no guarantee that is not stated', () => {
  expect(allTitles.flatMap(idsOf).filter((id) => !ids.includes(id))).toEqual([]);
});
