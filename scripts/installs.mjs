/**
 * `npm run installs [-- PLATFORM …]`: installs package-lock.json for each platform that it holds, or for those named, each
 * in a folder of its own that is removed again. A platform fails when npm does, when npm warns of a package outside its
 * engines, and when the native code of a package is missing. It asks the registry. Exit code 1 if any failed.
 */
import './setup/node-version.mjs';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildsFor, nativePackages, platforms } from './lock-platforms.mjs';
import { readLock } from './lock-rule.mjs';

const { packages } = readLock('package-lock.json');

/** @typedef {import('./lock-platforms.mjs').Platform} Platform */

/**
 * @param {Platform} platform
 * @param {string} folder
 * @returns {Promise<{ code: number | null, output: string }>}
 */
async function install({ os, cpu, libc }, folder) {
  const names = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])];
  const child = spawn('npm', ['ci', '--include=dev', '--ignore-scripts', ...names], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm is a script of the shell on Windows.
    shell: process.platform === 'win32',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
  const [code] = /** @type {[number | null]} */ (await once(child, 'close'));
  return { code, output };
}

/**
 * @param {Platform} platform
 * @param {string} folder where it was installed
 * @returns {readonly string[]}
 */
function faultsIn(platform, folder) {
  const { builds } = buildsFor(packages, platform);
  const others = nativePackages(packages)
    .flatMap((native) => native.builds)
    .filter((place) => !builds.includes(place));
  const isThere = (/** @type {string} */ place) => existsSync(path.join(folder, place, 'package.json'));
  return [
    ...builds.filter((place) => !isThere(place)).map((place) => `${place} is not installed`),
    ...others.filter(isThere).map((place) => `${place} is installed, and for another platform`),
  ];
}

/**
 * Installs for a platform and prints its line.
 * @param {Platform} platform
 * @returns {Promise<boolean>} whether all is there
 */
async function check(platform) {
  const folder = mkdtempSync(path.join(tmpdir(), `wellsync-${platform.name}-`));
  const startedAtMs = performance.now();
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(file, path.join(folder, file));
    const { code, output } = await install(platform, folder);
    const faults = [
      ...(code === 0 ? faultsIn(platform, folder) : [`npm ci ended with code ${code}`]),
      ...(output.includes('EBADENGINE') ? ['npm warned of EBADENGINE'] : []),
    ];
    const { builds, missing } = buildsFor(packages, platform);
    const without = missing.map(({ name }) => name).join(', ');
    console.log(
      `${faults.length === 0 ? 'ok    ' : 'FAILED'}  ${platform.name.padEnd(16)} ` +
        `${/added \d+ packages/.exec(output)?.[0] ?? 'nothing added'}, ${builds.length} of native code` +
        `${without === '' ? '' : `; no build of ${without}`} (${((performance.now() - startedAtMs) / 1000).toFixed(1)} s)`,
    );
    for (const fault of faults) console.log(`        ${fault}`);
    if (faults.length > 0) console.log(output.trim());
    return faults.length === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => !platforms.some((platform) => platform.name === name));
if (unknown.length > 0) {
  console.error(
    `No platform of package-lock.json: ${unknown.join(', ')}. It holds ${platforms.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(2);
}
const wanted = platforms.filter(({ name }) => names.length === 0 || names.includes(name));
let failed = 0;
for (const platform of wanted) if (!(await check(platform))) failed += 1;
console.log(`\n${wanted.length - failed} of ${wanted.length} platforms install (Node ${process.versions.node}).`);
process.exitCode = failed === 0 ? 0 : 1;
