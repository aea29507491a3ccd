/**
 * Configuration from all layers: flags override the environment, which overrides the file, which overrides the
 * defaults.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, resolve } from 'node:path';
import type { z } from 'zod';
import { UsageError } from '../src/core/base/errors.ts';
import { counted } from '../src/core/base/text.ts';
import { configFileVariable, defaultConfigFile, memoryVariable, readSmallFile } from './config-file.ts';
import { redisAccess, redisWays } from './redis-settings.ts';
import { type Config, configSchema, environmentSettings, tokenWays } from './schema.ts';
import { misspeltVariables, settingMessage, settingNear } from './setting-names.ts';
import { isTree, secretFilesOf, settingLines, type Tree, treeOfYaml } from './yaml-tree.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The checked configuration. `flags` is a partial tree of the file's shape. `file`: null for none. Throws UsageError with every
 * fault at once, each with the setting and the source of its value; values are not repeated, since one may be a secret (G10).
 */
export function loadConfig(options: {
  readonly environment: Environment;
  readonly flags?: Tree;
  readonly file?: string | null;
}): Config {
  const { environment, flags = {} } = options;
  const standard = existsSync(defaultConfigFile) ? defaultConfigFile : undefined;
  const file = options.file === null ? undefined : (options.file ?? environment[configFileVariable] ?? standard);
  const above = [treeOf(environment), flags];
  const own = file === undefined ? undefined : { file, settings: readTree(file) };
  const layers = [own?.settings ?? {}, ...above];
  // A token of one kind from a higher layer replaces a token of another kind, and so does an address of Redis.
  const merged = layers.reduce<Tree>((below, layer) => {
    const withoutTokens = dropOthers(below, layer, 'service', tokenWays);
    return merge(dropOthers(withoutTokens, layer, 'redis', redisWays), layer);
  }, {});
  const result = configSchema.safeParse(merged, { error: settingMessage });
  const misspelt = misspeltVariables(environment);
  if (result.success && misspelt.length === 0) {
    const config = { ...result.data, redis: redisAccess(result.data.redis) };
    const { dataDir, warehouse } = config;
    const { warehouseUrl, ...paths } = pathsOf({ dataDir, warehouseUrl: warehouse.url }, { file, above });
    return Object.freeze({
      ...config,
      ...paths,
      warehouse: { ...warehouse, url: warehouseUrl },
      folder: resolve(dirname(file ?? '.')),
      secretFiles: secretFilesOf(merged, own),
    });
  }
  const found = result.success ? [] : firstOfEach(result.error.issues);
  const whence = sourceOf(environment, file);
  const issues = firstOf([...found.flatMap((issue) => describe(issue, whence)), ...misspelt]);
  throw new UsageError(`the configuration has ${counted(issues.length, 'fault')}`, {
    issues,
    hint: 'config/wellsync.yaml shows every setting with its meaning.',
  });
}

function readTree(file: string): Tree {
  return treeOfYaml(readText(file), file);
}

function readText(file: string): string {
  return readSmallFile(file, 'the configuration file', `Check the path in --config or ${configFileVariable}.`);
}

function treeOf(environment: Environment): Tree {
  return Object.entries(environmentSettings).reduce<Tree>((tree, [variable, path]) => {
    const value = environment[variable];
    return value === undefined || value === '' ? tree : merge(tree, nest(path, numberOrText(variable, value)));
  }, {});
}

/**
 * Environment variables hold text: converts it for a numeric setting. Text that is not a number is left for the schema
 * to refuse.
 */
function numberOrText(variable: string, value: string): string | number {
  return variable === memoryVariable && /^\d+$/.test(value) ? Number(value) : value;
}

function nest(path: readonly string[], value: unknown): Tree {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Tree;
}

function merge(below: Tree, above: Tree): Tree {
  const merged: Tree = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const under = merged[key];
    if (value !== undefined) merged[key] = isTree(under) && isTree(value) ? merge(under, value) : value;
  }
  return merged;
}

function dropOthers(below: Tree, above: Tree, part: string, ways: readonly string[]): Tree {
  const [under, over] = [below[part], above[part]];
  if (!isTree(under) || !isTree(over)) return below;
  if (ways.every((way) => over[way] === undefined)) return below;
  const others = new Set(ways.filter((way) => over[way] === undefined));
  const kept = Object.entries(under).filter(([key]) => !others.has(key));
  return { ...below, [part]: Object.fromEntries(kept) };
}

/** Where the value of a setting comes from: ` (FILE, line 3)`, ` (VARIABLE)`, or nothing. */
type Whence = (path: readonly string[]) => string;

function describe(issue: z.core.$ZodIssue, whence: Whence): readonly string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownSetting([...issue.path, key], whence));
  const path = issue.path.map(String);
  return [`${path.join('.')}${whence(path)}: ${issue.message.charAt(0).toLowerCase()}${issue.message.slice(1)}`];
}

const longestNameShown = 80;

function unknownSetting(path: readonly PropertyKey[], whence: Whence): string {
  const near = settingNear(path);
  const meant = near === undefined ? '' : `: did you mean ${near}?`;
  const names = path.map((name) => String(name).slice(0, longestNameShown));
  return `${names.join('.')}${whence(path.map(String))}: is not a setting of wellsync${meant}`;
}

const mostIssuesShown = 50;

/** A file of another kind may have a hundred thousand names that are no settings. */
function firstOf(issues: readonly string[]): readonly string[] {
  const more = issues.length - mostIssuesShown;
  return more <= 0 ? issues : [...issues.slice(0, mostIssuesShown), `and ${more} more`];
}

/** Keeps one fault per setting: further faults may follow from the first. */
function firstOfEach(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  return issues.filter(
    ({ path }, index) => issues.findIndex((other) => other.path.join('.') === path.join('.')) === index,
  );
}

function sourceOf(environment: Environment, file: string | undefined): Whence {
  const lineOf = settingLines(file === undefined ? '' : readText(file));
  return (path) => {
    const setting = path.join('.');
    const variable = Object.entries(environmentSettings).find(([, names]) => names.join('.') === setting)?.[0];
    if (variable !== undefined && environment[variable]) return ` (${variable})`;
    if (file === undefined) return '';
    const line = lineOf(path);
    return line === undefined ? ` (${file})` : ` (${file}, line ${line})`;
  };
}

/**
 * Absolute paths of the data folder and the warehouse. A relative path of the configuration file, or a default, starts
 * at the installation: the folder of the file, or the one that holds `config/wellsync.yaml`. One of the environment or
 * of a flag starts at the working folder, which is another one under cron.
 */
interface Paths {
  readonly dataDir: string;
  readonly warehouseUrl: string;
  /** Whether the path of the warehouse is the same in every working folder. */
  readonly isWarehousePlaced: boolean;
}

/** `file`: the configuration file, if one is used. `above`: environment and flags. `set`: the merged settings. */
export function pathsOf(
  set: { readonly dataDir: string; readonly warehouseUrl: string | undefined },
  { file, above }: { readonly file: string | undefined; readonly above: readonly Tree[] },
): Paths {
  const installation = file === undefined ? undefined : installationOf(file);
  const baseOf = (isAbove: boolean): string | undefined => (isAbove ? undefined : installation);
  const dataBase = baseOf(above.some((layer) => layer['dataDir'] !== undefined));
  const dataDir = resolve(dataBase ?? '.', set.dataDir);
  if (set.warehouseUrl === undefined) {
    const isWarehousePlaced = isAbsolute(set.dataDir) || dataBase !== undefined;
    return { dataDir, warehouseUrl: `duckdb:${dataDir}/warehouse.duckdb`, isWarehousePlaced };
  }
  const base = baseOf(above.some(({ warehouse }) => isTree(warehouse) && warehouse['url'] !== undefined));
  const relative = relativePathOf(set.warehouseUrl);
  if (relative === undefined) return { dataDir, warehouseUrl: set.warehouseUrl, isWarehousePlaced: true };
  const warehouseUrl = `duckdb:${resolve(base ?? '.', relative)}`;
  return { dataDir, warehouseUrl, isWarehousePlaced: base !== undefined };
}

function installationOf(file: string): string {
  const folder = dirname(resolve(file));
  const isStandard = basename(file) === 'wellsync.yaml' && basename(folder) === 'config';
  return isStandard ? dirname(folder) : folder;
}

/** Undefined for an absolute path, and for what is no path of a file, which the warehouse refuses. */
function relativePathOf(url: string): string | undefined {
  const [, file = ''] = /^duckdb:(.+)$/is.exec(url) ?? [];
  const isOther = file === '' || isAbsolute(file) || /^[a-z][a-z0-9+.-]*:/i.test(file);
  return isOther ? undefined : file;
}
