/**
 * The import rule between rooms (docs/design.md section 9). `node scripts/import-rule.mjs [ROOT]` lists every import
 * that breaks it and ends with exit code 1. Anything that the tables do not name is forbidden: a new room or package
 * needs an entry. The linter checks cycles (import/no-cycle).
 */
import { readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseSync } from 'oxc-parser';

/** Timers of any length: every room but the core, which has no clock, may set one. */
const timers = 'src/timers';

const adapters = ['src/service', 'src/pipes', 'src/files', 'src/warehouse', 'src/queue'];

/**
 * What each room may import of ours, besides itself: a room, or one file of it.
 * @type {Record<string, { values?: string[], types?: string[] }>}
 */
const rooms = {
  'src/core': {},
  [timers]: {},
  config: { values: ['src/core'] },
  'src/service': { values: ['src/core'] },
  'src/pipes': { values: ['src/core'] },
  'src/files': { values: ['src/core'] },
  'src/warehouse': { values: ['src/core'] },
  'src/queue': { values: ['src/core'] },
  'src/runs': { values: ['src/core'], types: adapters },
  jobs: { values: ['src/core', 'src/runs'], types: [...adapters, 'config'] },
  'src/testing-server': { values: ['src/service/contract.ts'] },
  'src/app': { values: ['src/core', ...adapters, 'src/runs', 'jobs', 'config'] },
  'src/console': { values: ['src/core', 'src/app', 'config'] },
  'src/cli': { values: ['src/core', 'src/app', 'config', 'src/testing-server', 'src/console'] },
};

/**
 * The rooms that may import each driver: one, but for what both of our servers stand on.
 * @type {Record<string, string[]>}
 */
const drivers = {
  'src/queue': ['bullmq', 'ioredis'],
  'src/service': ['undici'],
  'src/files': ['@aws-sdk/client-s3', '@aws-sdk/lib-storage'],
  'src/warehouse': ['@duckdb/node-api', '@duckdb/node-bindings', 'pg', 'pg-copy-streams'],
  'src/testing-server': ['fastify'],
  'src/cli': ['commander', 'cli-progress', 'fast-string-width', 'fast-wrap-ansi'],
  'src/console': [
    'fastify',
    'fastify-type-provider-zod',
    '@fastify/compress',
    '@fastify/helmet',
    '@fastify/rate-limit',
    '@fastify/swagger',
    '@bull-board/api',
    '@bull-board/fastify',
    '@bull-board/ui',
    'preact',
    'preact-render-to-string',
    'uplot',
  ],
  config: ['yaml', 'cron-parser'],
  'src/app': ['prom-client'],
};

/** Packages without contact outside the process: every room except core may use them. */
const plainPackages = ['zod', 'pino', 'csv-parse', 'csv-stringify', 'jsonc-parser'];

/** @typedef {{ specifier: string, typeOnly: boolean, line: number }} Import */

/**
 * @param {string} file
 * @returns {string | undefined}
 */
function roomOf(file) {
  return Object.keys(rooms).find((room) => file.startsWith(`${room}/`));
}

/** @param {string} specifier */
function packageOf(specifier) {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/**
 * Why `room` may not import this package, or nothing where it may.
 * @param {string} room
 * @param {string} specifier
 */
function faultOfPackage(room, specifier) {
  if (room === 'src/core') return 'the core is pure: it imports no package and nothing of Node';
  if (isBuiltin(specifier)) return undefined;
  const name = packageOf(specifier);
  if (plainPackages.includes(name)) return undefined;
  const homes = Object.keys(drivers).filter((home) => drivers[home]?.includes(name));
  if (homes.length === 0) return `${name} has no room yet: give it one in scripts/import-rule.mjs`;
  return homes.includes(room) ? undefined : `only ${homes.join(' and ')} imports ${name}`;
}

/**
 * @param {readonly string[] | undefined} allowances
 * @param {string} target
 */
function isNamed(allowances, target) {
  return allowances?.some((allowed) => target === allowed || target.startsWith(`${allowed}/`)) ?? false;
}

/**
 * Why `room` may not import this file of ours, or nothing where it may.
 * @param {string} room
 * @param {string} target path from the root
 * @param {boolean} typeOnly
 */
function faultOfOurs(room, target, typeOnly) {
  const { values, types } = rooms[room] ?? {};
  if (roomOf(target) === room || isNamed(values, target)) return undefined;
  if (roomOf(target) === timers && room !== 'src/core') return undefined;
  if (isNamed(types, target)) return typeOnly ? undefined : `${room} may import only types of ${roomOf(target)}`;
  return `${room} may not import ${roomOf(target) ?? target}`;
}

/**
 * @param {string} file
 * @param {Import} imported
 */
function faultOf(file, { specifier, typeOnly }) {
  const room = roomOf(file);
  if (room === undefined) return 'the file lies in no room: name it in scripts/import-rule.mjs';
  if (!specifier.startsWith('.')) return faultOfPackage(room, specifier);
  return faultOfOurs(room, path.posix.join(path.posix.dirname(file), specifier), typeOnly);
}

/**
 * Every import of a source text, in order: static, re-export and dynamic.
 * @param {string} file
 * @param {string} source
 * @returns {Import[]}
 */
function importsOf(file, source) {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, source).module;
  const found = [
    // `import 'X'` names nothing and runs the module: it counts as a value import.
    ...staticImports.map(({ moduleRequest, entries, start }) => ({
      specifier: moduleRequest.value,
      typeOnly: entries.length > 0 && entries.every((entry) => entry.isType),
      start,
    })),
    ...staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest, isType, start }) =>
        moduleRequest === null ? [] : [{ specifier: moduleRequest.value, typeOnly: isType, start }],
      ),
    ),
    ...dynamicImports.map(({ moduleRequest, start }) => ({
      specifier: source.slice(moduleRequest.start + 1, moduleRequest.end - 1),
      typeOnly: false,
      start,
    })),
  ];
  return found.map(({ start, ...rest }) => ({ ...rest, line: source.slice(0, start).split('\n').length }));
}

/** @param {string} root */
function sourceFiles(root) {
  return ['src', 'jobs', 'config'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => path.posix.join(folder, name.replaceAll(path.sep, '/'))),
  );
}

/**
 * Every broken import under `root`, as `file:line: why`.
 * @param {string} root
 */
export function brokenImports(root) {
  return sourceFiles(root).flatMap((file) =>
    importsOf(file, readFileSync(path.join(root, file), 'utf8')).flatMap((imported) => {
      const fault = faultOf(file, imported);
      return fault === undefined ? [] : [`${file}:${imported.line}: ${fault}`];
    }),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const broken = brokenImports(process.argv[2] ?? '.');
  for (const line of broken) console.error(line);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
