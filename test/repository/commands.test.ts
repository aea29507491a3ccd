/** Checks that the documents use commands and flags that wellsync has. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { expectCommand } from '../support/cli-help.ts';

const documents = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Of a block of code: the words behind `wellsync`, up to the end of the command. */
function commandsIn(block: string): readonly string[] {
  return block.split('\n').flatMap((line) => {
    const [command = ''] = line.split(/\s+#/);
    return /(?:^|[\s(])wellsync ([a-z][^"'>|;)]*?)(?: 2?>|["'>|;)]|$)/.exec(command)?.[1]?.trim() ?? [];
  });
}

/** The blocks of a shell or of a crontab. */
function blocksIn(document: string): readonly string[] {
  const blocks = [...document.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(([, language = '', block = '']) => (['', 'sh', 'crontab'].includes(language) ? block : []));
}

const commands = documents.flatMap((name) => blocksIn(readFileSync(name, 'utf8')).flatMap(commandsIn));

test('commands are found in the forms that documents have', () => {
  const lines = [
    'wellsync runs rejects RUN > rejects.csv  # to fix',
    '15 2 * * *  out=$(wellsync doctor --quiet 2>&1); x',
    'wellsync query "SELECT 1"',
    'PATH=/opt/wellsync npm test',
  ];
  expect(commandsIn(lines.join('\n'))).toEqual(['runs rejects RUN', 'doctor --quiet', 'query']);
  expect(commands).toContain('push network-pipes pipes.csv --dry-run');
  expect(commands).toContain('export daily-production --inline --quiet --skip-if-running');
});

test.each([...new Set(commands)])('wellsync %s is a command with flags that it has', async (line) => {
  // A file is no part of the command.
  await expectCommand(line.split(/\s+/).filter((word) => !/[./]/.test(word)));
});
