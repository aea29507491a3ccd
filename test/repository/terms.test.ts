/** Holds the texts that an operator reads, and the names of the code, to the words of docs/terms.md. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';

/** Where a message of the program may come from; a testing server is a program of its own. */
const programs = ['src', 'jobs', 'config'];
const termsFile = 'docs/terms.md';
/** The interface is the service's document, and decisions are kept as they were taken. */
const otherDocuments = new Set(['docs/interface.md', termsFile]);

type Node = Readonly<Record<string, unknown>>;

function filesOf(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.startsWith('decisions'))
    .map((name) => path.posix.join(folder, name));
}

/** The words of the left column of the table below a heading, as a pattern each. */
function unusedWords(heading: string): readonly string[] {
  const table = readFileSync(termsFile, 'utf8').split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const cells = table.split('\n').map((line) => line.split('|')[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? ''));
}

function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Node;
  for (const child of Object.values(value)) yield* nodesOf(child);
}

/** Each string, and each template with its gaps as `…`, so that a phrase may hold a figure. */
function textsOf(file: string, source: string): readonly string[] {
  return [...nodesOf(parseSync(file, source).program)].flatMap((node) => {
    const isText = node['type'] === 'Literal' || node['type'] === 'JSXText';
    if (isText && typeof node['value'] === 'string') return [node['value']];
    if (node['type'] !== 'TemplateLiteral') return [];
    const parts = node['quasis'] as readonly { readonly value: { readonly cooked: string } }[];
    return [parts.map(({ value }) => value.cooked).join('…')];
  });
}

const words = unusedWords('Words that are not used');
const wordsOfNames = new Set(unusedWords('Names that are not used in code'));
const termsOfTwoWords = /look(?=Ahead|Up|back)/gi;

/** Titles of tests, which docs/guarantees-tests.md lists, are for those who read code. */
function withoutTitles(text: string): string {
  return text.replaceAll(/^- `test\/.*$/gm, '');
}

function unusedIn(file: string, text: string): readonly string[] {
  const plain = text.replaceAll(/\s+/g, ' ');
  return words
    .filter((word) => new RegExp(String.raw`(?<!\w)${word}(?!\w)`, 'i').test(plain))
    .map((word) => `${file}: ${word}`);
}

test('the list of words that are not used is read', () => {
  expect(words).toContain('adds up');
  expect(unusedIn('a.ts', 'It\nadds up: `3 rows`')).toEqual(['a.ts: adds up']);
  expect(textsOf('a.ts', 'const a = `plan ${b} is of another service: ${c}`;')).toEqual([
    'plan … is of another service: …',
  ]);
});

test('no text of the program or its configuration has one of them', () => {
  const files = programs.flatMap((folder) => [...filesOf(folder, '.ts'), ...filesOf(folder, '.tsx')]);
  expect(files).toContain('src/cli/text/runs.ts');
  const found = files.flatMap((file) =>
    textsOf(file, readFileSync(file, 'utf8')).flatMap((text) => unusedIn(file, text)),
  );
  expect(found.join('\n')).toBe('');
});

test('nor has a document', () => {
  const documents = ['README.md', 'config/wellsync.yaml', ...filesOf('docs', '.md')];
  const found = documents
    .filter((file) => !otherDocuments.has(file))
    .flatMap((file) => unusedIn(file, withoutTitles(readFileSync(file, 'utf8'))));
  expect(found.join('\n')).toBe('');
});

/** Names of stored fields, which are kept as keys alone. */
const storedNames = new Set(['place', 'placeId', 'doubt']);

function isStoredKey(node: unknown): boolean {
  return typeof node === 'object' && node !== null && 'name' in node && storedNames.has(String(node.name));
}

/** Names that a source text declares or uses, with a word in them that names of the code do not have. */
function unusedNamesIn(file: string, source: string): readonly string[] {
  const nodes = [...nodesOf(parseSync(file, source).program)];
  const keys = new Set(nodes.flatMap(({ key, property }) => [key, property]).filter(isStoredKey));
  const names = nodes.flatMap((node) => {
    const { type, name } = node;
    const isName = (type === 'Identifier' || type === 'PrivateIdentifier') && typeof name === 'string';
    return isName && !keys.has(node) ? [name] : [];
  });
  const isUnused = (name: string): boolean =>
    name
      .replaceAll(termsOfTwoWords, '')
      .split(/(?<=[a-z0-9])(?=[A-Z])/)
      .some((word) => wordsOfNames.has(word.toLowerCase()));
  return [...new Set(names.filter(isUnused))].map((name) => `${file}: ${name}`);
}

test('no name of the code has a word that names do not have', () => {
  expect(wordsOfNames).toContain('turnstile');
  expect(unusedNamesIn('a.ts', 'const lookAhead = 1, emptyLooks = 2; this.#told(notes);')).toEqual([
    'a.ts: emptyLooks',
    'a.ts: told',
    'a.ts: notes',
  ]);
  expect(unusedNamesIn('a.ts', 'interface A { place: string } const { place } = run.place, b = { doubt: 1 };')).toEqual(
    ['a.ts: place'],
  );
  const files = programs.flatMap((folder) => [...filesOf(folder, '.ts'), ...filesOf(folder, '.tsx')]);
  const found = files.flatMap((file) => unusedNamesIn(file, readFileSync(file, 'utf8')));
  expect(found.join('\n')).toBe('');
});
