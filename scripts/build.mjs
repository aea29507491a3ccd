/** `npm run build`: compiles the sources into dist and bundles the program, even if they have not changed. */
import './setup/node-version.mjs';
import { provideDependencies } from './setup/dependencies.mjs';
import { build } from './setup/distribution.mjs';
import { runScript } from './setup/setup-error.mjs';

await runScript(async () => {
  await provideDependencies();
  await build();
  return 0;
});
