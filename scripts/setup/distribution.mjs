/** The build in dist, which `wellsync` runs from, renewed whenever the sources have changed. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runLeashed } from './leash.mjs';
import { SetupError } from './setup-error.mjs';

const fingerprintFile = 'dist/sources.sha256';

/** The sources of a build: the folders and files that tsconfig.build.json reads, and how they are bundled. */
function sourceFiles() {
  // The image is built without bench.
  const folders = ['src', 'jobs', 'config', 'bench'].filter((folder) => existsSync(folder));
  const sources = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name)),
  );
  return [
    ...sources,
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'scripts/setup/bundle.mjs',
  ].toSorted();
}

/** A hash of names and contents, so that a removed source counts as well as a changed one. */
function fingerprintOfSources() {
  const hash = createHash('sha256');
  for (const file of sourceFiles()) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}

function isCurrent() {
  try {
    return readFileSync(fingerprintFile, 'utf8') === fingerprintOfSources();
  } catch {
    return false;
  }
}

/** Compiles beside dist and swaps the folders: stale outputs disappear, and a failed build leaves the last good one. */
export async function build() {
  const fingerprint = fingerprintOfSources();
  const next = `.dist-${process.pid}`;
  try {
    const code = await runLeashed(process.execPath, [
      'node_modules/typescript/bin/tsc',
      '-p',
      'tsconfig.build.json',
      '--outDir',
      next,
    ]);
    if (code !== 0) throw new SetupError('The build failed; the compiler’s words are above.');
    // Not above: the bundler is a package, which may not be installed yet when this script begins.
    const { bundle } = await import('./bundle.mjs');
    await bundle(next);
    rmSync('dist', { recursive: true, force: true });
    renameSync(next, 'dist');
    writeFileSync(fingerprintFile, fingerprint);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** Builds dist, unless it is up to date. */
export async function provideDistribution() {
  if (isCurrent()) return;
  console.log('Building dist …');
  await build();
}
