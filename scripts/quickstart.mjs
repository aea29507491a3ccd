/**
 * `npm run quickstart`: installs, builds, and runs `wellsync demo` into the folder quickstart-data. `npm run quickstart --
 * --stay` then shows it all on the pages of the console until Ctrl-C.
 */
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { provideDistribution } from './setup/distribution.mjs';
import { runLeashed } from './setup/leash.mjs';
import { runScript } from './setup/setup-error.mjs';

const program = 'dist/src/cli/main.js';

await runScript(async () => {
  await provideDependencies();
  await provideDistribution();
  const args = [program, 'demo', '--folder', 'quickstart-data', ...process.argv.slice(2)];
  const code = await runLeashed(process.execPath, args);
  // Ctrl-C is the usual end of a stay.
  return code === 130 || code === 143 ? 0 : code;
});
