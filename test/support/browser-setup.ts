/**
 * Has Chromium installed before the files of the full suite that need it, where this machine lacks it and lets that be done:
 * once, since a package manager serves one at a time.
 */
import { installPackage, mayInstall } from '../../scripts/setup/debian.mjs';
import { browserProgram } from './browser.ts';
import { isFullSuite } from './suite-size.ts';

export async function setup(): Promise<void> {
  if (!isFullSuite || browserProgram() !== undefined || !mayInstall()) return;
  // Where that fails, apt-get says why, and the files that need it fail: the others run.
  await installPackage('chromium');
}
