/**
 * `npm run check`: types, lint, format, the import rule and dead code. Every step runs, whatever became of the one
 * before; the words of a step show where it failed. Ends with code 1 where any did.
 */
import './setup/node-version.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { provideDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/setup-error.mjs';

/** @type {ReadonlyArray<readonly [name: string, ...args: string[]]>} each runs with this very Node */
const steps = [
  ['types', 'node_modules/typescript/bin/tsc', '-p', '.'],
  ['lint', 'node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--report-unused-disable-directives'],
  ['format', 'node_modules/oxfmt/bin/oxfmt', '--check'],
  ['imports', 'scripts/import-rule.mjs'],
  ['dead code', 'node_modules/knip/bin/knip.js'],
];

/**
 * @param {readonly string[]} args
 * @returns {Promise<{ passed: boolean, output: string }>}
 */
async function run(args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  await once(child, 'close');
  return { passed: child.exitCode === 0, output: output.trim() };
}

/** @param {number} sinceMs */
function secondsSince(sinceMs) {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}

/** @param {(typeof steps)[number]} step */
async function passes([name, ...args]) {
  const startedAtMs = performance.now();
  const { passed, output } = await run(args);
  console.log(`${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(10)} ${secondsSince(startedAtMs).padStart(7)}`);
  if (!passed) console.log(`\n${output}\n`);
  return passed;
}

await runScript(async () => {
  await provideDependencies();
  const startedAtMs = performance.now();
  let failures = 0;
  for (const step of steps) if (!(await passes(step))) failures += 1;
  console.log(
    `\n${failures === 0 ? 'All is well' : `${failures} of ${steps.length} failed`} (${secondsSince(startedAtMs)}).`,
  );
  return failures === 0 ? 0 : 1;
});
