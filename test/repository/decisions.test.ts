/** Checks the index of the decisions against the records. */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const folder = 'docs/decisions';

test('the index of the decisions lists every record by its title, in order', () => {
  const records = readdirSync(folder).filter((file) => /^\d{4}-.*\.md$/.test(file));
  const lines = records.toSorted().map((file) => {
    const [heading = ''] = readFileSync(path.join(folder, file), 'utf8').split('\n');
    return `- [${heading.replace(/^# /, '')}](${file})`;
  });
  const [, index = ''] = readFileSync(path.join(folder, 'README.md'), 'utf8').split('## Index\n');
  expect(index.trim().split('\n')).toEqual(lines);
});
