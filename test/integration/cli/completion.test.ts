/** `wellsync completion`: what the shells offer, asked of the shells themselves where they are installed. */
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runHere } from '../../support/cli-here.ts';

const run = promisify(execFile);

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'exit 0'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function scriptOf(shell: string): Promise<string> {
  const { stdout, code } = await runHere(['completion', shell], {});
  expect(code).toBe(0);
  return stdout;
}

/** What bash offers for the last of these words. */
async function offered(script: string, ...words: readonly string[]): Promise<readonly string[]> {
  const ask = `${script}
complete -p wellsync > /dev/null || exit 1
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_wellsync; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', ask, 'bash', 'wellsync', ...words]);
  return stdout.split('\n').filter((line) => line !== '');
}

test.skipIf(!isInstalled('bash'))('bash offers commands, flags and fixed choices, by its own complete', async () => {
  const script = await scriptOf('bash');
  expect(await offered(script, '')).toEqual(expect.arrayContaining(['worker', 'export', 'cleanup', 'prune', '--json']));
  expect(await offered(script, 'exp')).toEqual(['export']);
  expect(await offered(script, 'export', 'da')).toEqual(['daily-production']);
  expect(await offered(script, 'export', 'daily-production', '--inl')).toEqual(['--inline']);
  expect(await offered(script, '--json', 'export', 'daily-production', '--uwi', 'W 1', '--wa')).toEqual(
    expect.arrayContaining(['--wait']),
  );
  expect(await offered(script, 'runs', 'list', '--state', 'in')).toEqual(['interrupted']);
  expect(await offered(script, 'doctor', '--log-level', 'w')).toEqual(['warn']);
  expect(await offered(script, 'completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  // A value of any text is left to bash, which completes the names of files.
  expect(await offered(script, 'export', 'daily-production', '--wells', '')).toEqual([]);
});

test.for([
  ['bash', '-n'],
  ['zsh', '-n'],
  ['fish', '--no-execute'],
] as const)('the script for %s is one that it reads', async ([shell, check], { skip }) => {
  const script = await scriptOf(shell);
  expect(script).toContain('daily-production');
  if (!isInstalled(shell)) skip(`${shell} is not installed`);
  await run(shell, [check, '-c', script]);
});

test('is refused for a shell that it does not know', async () => {
  const { stderr, code } = await runHere(['completion', 'csh'], {});
  expect(stderr).toContain('Allowed choices are bash, zsh, fish');
  expect(code).toBe(2);
});
