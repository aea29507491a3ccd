/**
 * `npm run storm -- --seed N --minutes M --warehouse duckdb|postgres --queue embedded|redis`: plays a storm against the built
 * program, and judges what it left (docs/guarantees.md#storms). `--evidence FILE` judges again what a storm left, `--summary FOLDER`
 * judges several, and adds up their figures. The exit code is 1 where a guarantee was violated.
 */
import { rmSync } from 'node:fs';
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed } from './setup/leash.mjs';
import { runScript } from './setup/setup-error.mjs';

await runScript(async () => {
  await provideDependencies();
  await provideDistribution();
  const [{ rolldown }, { oxcRuntimePlugin }] = await Promise.all([import('rolldown'), import('rolldown/experimental')]);
  const input = 'test/storm/main.ts';
  // Packages are found from the project's folder, where the bundle lies.
  const external = (/** @type {string} */ id) => id !== input && /^[a-z@](?!oxc-)/.test(id);
  const bundle = await rolldown({
    input,
    platform: 'node',
    external,
    logLevel: 'warn',
    // What Node 20 does not know, such as `await using`.
    transform: { target: 'node20' },
    plugins: [oxcRuntimePlugin()],
  });
  const [program] = (await bundle.write({ file: `.storm/storm-${process.pid}.mjs`, format: 'es' })).output;
  const file = `.storm/${program.fileName}`;
  try {
    return await runLeashed(process.execPath, [file, ...process.argv.slice(2)]);
  } finally {
    rmSync(file);
  }
});
