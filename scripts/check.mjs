/**
 * `npm run check`: types, lint, format, the import rule, the rule of the lock file and dead code, side by side. Every step runs to its end,
 * whatever the others do. Prints each step as it ends, then the output of the failed ones. Exit code 1 if any failed.
 */
import './setup/node-version.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { provideDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/setup-error.mjs';

/** @type {ReadonlyArray<readonly [name: string, ...args: string[]]>} each runs with this very Node; the slowest come first */
const steps = [
  ['types', 'node_modules/typescript/bin/tsc', '-p', '.'],
  ['lint', 'node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--report-unused-disable-directives'],
  ['dead code', 'node_modules/knip/bin/knip.js'],
  ['format', 'node_modules/oxfmt/bin/oxfmt', '--check'],
  ['imports', 'scripts/import-rule.mjs'],
  ['lock', 'scripts/lock-rule.mjs'],
];

/** @param {number} sinceMs */
function secondsSince(sinceMs) {
  return `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
}

/**
 * Runs a step to its end and prints its line.
 * @param {(typeof steps)[number]} step
 * @returns {Promise<{ name: string, passed: boolean, output: string }>}
 */
async function run([name, ...args]) {
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  await once(child, 'close');
  const passed = child.exitCode === 0;
  console.log(`${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(10)} ${secondsSince(startedAtMs).padStart(7)}`);
  return { name, passed, output: output.trim() };
}

await runScript(async () => {
  await provideDependencies();
  const startedAtMs = performance.now();
  const results = await Promise.all(steps.map(run));
  const failed = results.filter(({ passed }) => !passed);
  for (const { name, output } of failed) console.log(`\n${name}:\n\n${output}`);
  const verdict = failed.length === 0 ? 'All is well' : `${failed.length} of ${steps.length} failed`;
  console.log(`\n${verdict} (${secondsSince(startedAtMs)}).`);
  return failed.length === 0 ? 0 : 1;
});
