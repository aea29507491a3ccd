/** Reads the configuration: flags beat the environment, which beats the file, which beats the defaults. */
import { existsSync, readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { UsageError } from '../src/core/errors.ts';
import { settingWords } from './setting-words.ts';
import { configFileVariable, configSchema, environmentSettings, tokenWays, type Config } from './schema.ts';

/** Read where nothing else is named, when it is there. */
export const defaultConfigFile = 'config/wellsync.yaml';

type Tree = { [key: string]: unknown };

/**
 * The checked configuration. `flags` is a partial tree of the file's shape. Throws UsageError with every fault at once,
 * each naming the setting and where its value came from; values are not repeated, since one may be a secret (G10).
 */
export function loadConfig(options: {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags?: Tree;
  readonly file?: string;
}): Config {
  const { environment, flags = {} } = options;
  const named = options.file ?? environment[configFileVariable];
  const file = named ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
  const layers = [file === undefined ? {} : readTree(file), treeOf(environment), flags];
  // A token by one way replaces a token by the other, when it comes from a layer above.
  const merged = layers.reduce<Tree>((below, above) => merge(dropOtherToken(below, above), above), {});
  const result = configSchema.safeParse(merged, { error: settingWords });
  if (result.success) return Object.freeze(result.data);
  const issues = result.error.issues.flatMap((issue) => describe(issue, environment, file));
  throw new UsageError(`the configuration has ${issues.length === 1 ? 'a fault' : `${issues.length} faults`}`, {
    issues,
    hint: 'config/wellsync.yaml shows every setting with its meaning.',
  });
}

function readTree(file: string): Tree {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`the configuration file ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      hint: `Check the path in --config or ${configFileVariable}.`,
      cause: error,
    });
  }
  const document = parseDocument(source, { prettyErrors: true });
  if (document.errors.length > 0) {
    const issues = document.errors.map((error) => `${file}: ${firstLine(error.message)}`);
    throw new UsageError(`the configuration file ${file} is not YAML`, { issues });
  }
  const tree: unknown = document.toJS() ?? {};
  if (isTree(tree)) return tree;
  throw new UsageError(`the configuration file ${file} must hold settings by name, such as "timeZone: UTC"`);
}

function treeOf(environment: Readonly<Record<string, string | undefined>>): Tree {
  return Object.entries(environmentSettings).reduce<Tree>((tree, [variable, path]) => {
    const value = environment[variable];
    return value === undefined || value === '' ? tree : merge(tree, nest(path, value));
  }, {});
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

function dropOtherToken(below: Tree, above: Tree): Tree {
  const [under, over] = [below['service'], above['service']];
  if (!isTree(under) || !isTree(over)) return below;
  if (tokenWays.every((way) => over[way] === undefined)) return below;
  const others = new Set<string>(tokenWays.filter((way) => over[way] === undefined));
  const kept = Object.entries(under).filter(([key]) => !others.has(key));
  return { ...below, service: Object.fromEntries(kept) };
}

function describe(
  issue: z.core.$ZodIssue,
  environment: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): readonly string[] {
  const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
  const words = issue.code === 'unrecognized_keys' ? 'is not a setting of wellsync' : lowerFirst(issue.message);
  return paths.map((path) => `${path.join('.')}${sourceOf(path.map(String), environment, file)}: ${words}`);
}

function sourceOf(
  path: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): string {
  const variable = Object.entries(environmentSettings).find(([, setting]) => setting.join('.') === path.join('.'))?.[0];
  if (variable !== undefined && environment[variable]) return ` (${variable})`;
  return file === undefined ? '' : ` (${file})`;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstLine(message: string): string {
  return message.split('\n')[0] ?? message;
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
