/** Checks that the recipes use commands and flags that wellsync has. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { expectCommand } from '../support/built-cli.ts';

const folder = 'docs/recipes';
const recipes = readdirSync(folder).map((file) => file.replace(/\.md$/, ''));

/** Of the blocks of code: the words behind `wellsync`, up to the end of the command. */
function commandsIn(recipe: string): readonly string[] {
  const blocks = readFileSync(`${folder}/${recipe}.md`, 'utf8').matchAll(/^```\w+\n([\s\S]*?)^```$/gm);
  const lines = [...blocks].flatMap(([, text = '']) => text.split('\n'));
  const written = lines.map((line) => line.replaceAll(/",\s*"/g, ' '));
  return written.flatMap((line) => /\bwellsync ([a-z][^">|)]*?)(?: 2?>|[">|)]|$)/.exec(line)?.[1]?.trim() ?? []);
}

test('the recipes are found', () => {
  expect(new Set(recipes)).toEqual(new Set(['README', 'airflow', 'ci', 'cron', 'systemd']));
  expect(commandsIn('ci')).toContain('push network-pipes pipes.csv --wait');
  expect(commandsIn('airflow')).toContain('export daily-production --wait --json');
});

test.each([...new Set(recipes.flatMap(commandsIn))])(
  'wellsync %s is a command with flags that it has',
  async (line) => {
    // A file is no part of the command.
    await expectCommand(line.split(/\s+/).filter((word) => !word.includes('.')));
  },
);
