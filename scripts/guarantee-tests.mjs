/**
 * `npm run guarantees`: writes docs/guarantees-tests.md, the tests that enforce each guarantee of docs/guarantees.md. A test
 * enforces those that its title begins with: `G1, G3: …`.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const guaranteesFile = 'docs/guarantees.md';
export const guaranteeTestsFile = 'docs/guarantees-tests.md';

/** @typedef {{ readonly file: string, readonly title: string, readonly ids: readonly string[] }} GuaranteeTest */

/**
 * The titles of a source that open with ids: "G1, G3: …".
 * @param {string} source
 * @returns {readonly string[]}
 */
export function titlesWithIds(source) {
  return [...source.matchAll(/['"`]((?:G\d+, )*G\d+: [^\n]*?)(?<!\\)['"`]\s*,/g)].map(([, title = '']) =>
    title.replaceAll("\\'", "'"),
  );
}

/**
 * The tests of guarantees in the folder `test`, by file, each title of a file once.
 * @returns {readonly GuaranteeTest[]}
 */
export function guaranteeTests() {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.posix.join('test', name.replaceAll(path.sep, '/')))
    .toSorted()
    .flatMap((file) =>
      [...new Set(titlesWithIds(readFileSync(file, 'utf8')))]
        .toSorted()
        .map((title) => ({ file, title, ids: (title.split(':')[0] ?? '').split(', ') })),
    );
}

/**
 * The document: a heading a guarantee, below it an item a test.
 * @param {readonly GuaranteeTest[]} tests
 */
export function guaranteeTestsDocument(tests) {
  const ids = [...new Set(tests.flatMap((each) => each.ids))].toSorted(
    (a, b) => Number(a.slice(1)) - Number(b.slice(1)),
  );
  const sections = ids.map((id) => {
    const items = tests.filter((each) => each.ids.includes(id)).map(({ file, title }) => `- \`${file}\`: ${title}`);
    return `\n## ${id}\n\n${items.join('\n')}\n`;
  });
  const stated = path.basename(guaranteesFile);
  const head = `The tests that enforce each guarantee of [${stated}](${stated}), written by \`npm run guarantees\`.`;
  return `# Tests of the guarantees\n\n${head}\n${sections.join('')}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(guaranteeTestsFile, guaranteeTestsDocument(guaranteeTests()));
}
