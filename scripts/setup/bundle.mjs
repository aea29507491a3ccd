/**
 * Bundles the compiled program, with the packages that it uses, into a few files. Node otherwise looks for, reads and
 * links 600 modules before an export begins, and again in the process with memory limits.
 */
import { chmodSync, cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

/** Modules that Node itself loads by their path: the program, and what stands in --require (src/cli/process/limited-process.ts). */
const entries = { main: 'src/cli/main.js', 'parent-watch': 'src/cli/process/parent-watch.js' };

/** Native code, which its package finds beside itself. */
const native = [/^@duckdb\/node-bindings/, 'msgpackr-extract'];

/** Finds its pages in its own package, and is loaded by `wellsync serve` alone. */
const board = /^@bull-board\//;

const define = {
  // Payloads of the queue are small: their reader needs no native code of its own, which takes ten files to find.
  'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"',
};

/**
 * The library of the warehouse's engine is loaded by `createRequire` (src/warehouse/duckdb/file/engine.ts), which a
 * bundler does not look into; a bundled module has its `require` without a search for exports.
 */
const engineRequire = {
  name: 'engine-require',
  /** @param {string} code */
  transform(code, /** @type {string} */ id) {
    if (!id.endsWith('/warehouse/duckdb/file/engine.js')) return undefined;
    const bundled = code.replaceAll('createRequire(import.meta.url)(', 'require(');
    if (bundled === code) throw new Error(`${id} no longer loads the engine by createRequire(import.meta.url)`);
    return bundled;
  },
};

/**
 * Throws Error for a file that would look for another one beside itself, which was not bundled.
 * @param {import('rolldown').RolldownOutput['output']} output
 */
function requireWhole(output) {
  const bundled = new Set(output.map(({ fileName }) => `./${fileName}`));
  for (const file of output) {
    if (file.type !== 'chunk') continue;
    const parts = [...file.code.matchAll(/\brequire\("(\.{1,2}\/[^"]*)"\)/g)].map(([, part = '']) => part);
    const missing = parts.find((part) => !bundled.has(part));
    if (missing !== undefined) throw new Error(`${file.fileName} would look for a file at run time: ${missing}`);
  }
}

/**
 * What wellsync uses of the HTTP client, whose index also loads fetch, WebSocket, caches and mocks: half of what an
 * export would load. A name that is missing here fails the build.
 */
const client = `
import buildConnector from 'undici/lib/core/connect.js';
import errors from 'undici/lib/core/errors.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import request from 'undici/lib/api/api-request.js';
Dispatcher.prototype.request = request;
export { buildConnector, errors, Pool };`;

const clientParts = {
  name: 'client-parts',
  /** @param {string} specifier */
  resolveId(specifier) {
    return specifier === 'undici' ? path.resolve('node_modules/undici/client-parts.js') : undefined;
  },
  /** @param {string} id */
  load(id) {
    return id.endsWith('/undici/client-parts.js')
      ? { code: client, moduleType: /** @type {const} */ ('js') }
      : undefined;
  },
  /**
   * HTTP/2 is never offered (`allowH2`), and Node's takes 9 ms to load: the client does as in a Node without it.
   * @param {string} code
   */
  transform(code, /** @type {string} */ id) {
    if (!id.endsWith('/undici/lib/dispatcher/client-h2.js')) return undefined;
    const without = code.replace("http2 = require('node:http2')", 'http2 = { constants: {} }');
    if (without === code) throw new Error(`${id} no longer loads node:http2 where it stands without one`);
    return without;
  },
};

/**
 * Escapes all that is not ASCII, in texts and patterns as elsewhere: a file of ASCII alone is read sooner, and its text takes half
 * the memory. Throws Error where an escape would say something else: in raw text, and behind a backslash.
 * @param {string} dir
 * @param {import('rolldown').RolldownOutput['output']} output
 */
function writeInAscii(dir, output) {
  for (const file of output) {
    if (file.type !== 'chunk') continue;
    const { code, fileName } = file;
    if (/String\.raw`[^`]*[^\0-\x7f]|\\[^\0-\x7f]/.test(code))
      throw new Error(`${fileName} has text that cannot be escaped`);
    const escaped = code.replaceAll(/[^\0-\x7f]/g, escapeOf);
    if (escaped !== code) writeFileSync(path.join(dir, fileName), escaped);
  }
}

/** @param {string} unit of UTF-16 */
function escapeOf(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * The packages in each file, by its name.
 * @param {import('rolldown').RolldownOutput['output']} output
 */
function packagesIn(output) {
  const files = output.filter((file) => file.type === 'chunk');
  return Object.fromEntries(files.map(({ fileName, moduleIds }) => [fileName, packagesOf(moduleIds)]));
}

/** @param {readonly string[]} modules paths */
function packagesOf(modules) {
  const names = modules.flatMap((id) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/**
 * Bundles the program compiled into the folder `dist` into its folder `program`, and makes `src/cli/main.js` start it.
 * The files lie side by side, so that a module finds `parent-watch` beside itself, as in the sources.
 * `packages.json` beside them tells which packages each file holds.
 * @param {string} dist
 */
export async function bundle(dist) {
  const input = Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, path.resolve(dist, file)]));
  const bundled = await rolldown({
    input,
    platform: 'node',
    // Of an ECMAScript module only what is used is kept, and it looks for none of its parts at run time.
    resolve: { mainFields: ['module', 'main'] },
    external: [...native, board],
    plugins: [engineRequire, clientParts],
    transform: { define },
  });
  const dir = path.join(dist, 'program');
  const { output } = await bundled.write({
    dir,
    // Node links no CommonJS modules, and starts the sooner (docs/decisions/0011-the-program-is-bundled.md).
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await bundled.close();
  requireWhole(output);
  writeInAscii(dir, output);
  // Found beside the program, as beside its module in the sources (src/console/openapi.ts).
  cpSync('src/console/static', path.join(dir, 'static'), { recursive: true });
  writeFileSync(path.join(dir, 'packages.json'), `${JSON.stringify(packagesIn(output), undefined, 2)}\n`);
  const main = path.join(dist, entries.main);
  writeFileSync(main, "#!/usr/bin/env node\nimport '../../program/main.cjs';\n");
  chmodSync(main, 0o755);
}
