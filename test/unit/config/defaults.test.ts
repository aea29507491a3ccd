/** config/wellsync.yaml shows every setting with its default, commented out: held to the schema. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configSchema } from '../../../config/schema.ts';

type Tree = Readonly<Record<string, unknown>>;

/** Settings whose members are one value: a file that sets one of them replaces all. */
const wholes = ['push.limits'];

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

function shownSettings(): unknown {
  const lines = readFileSync('config/wellsync.yaml', 'utf8').split('\n');
  const settings = lines.filter((line) => /^# *[\w-]+:/.test(line));
  return parse(settings.map((line) => line.slice(2)).join('\n'));
}

function* leavesOf(tree: Tree, path: readonly string[] = []): Iterable<readonly [path: readonly string[], unknown]> {
  for (const [name, value] of Object.entries(tree)) {
    const here = [...path, name];
    if (isTree(value) && !wholes.includes(here.join('.'))) yield* leavesOf(value, here);
    else yield [here, value];
  }
}

const valueAt = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (isTree(value) ? value[name] : undefined), tree);

const setAt = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);

const defaults = configSchema.parse({});
const shown = shownSettings();
const withDefault = [...leavesOf(isTree(shown) ? shown : {})].filter(([path]) => valueAt(defaults, path) !== undefined);

test('the file shows all of the settings that have a default', () => {
  const missing = [...leavesOf(defaults)].filter(([path]) => valueAt(shown, path) === undefined);
  expect(missing.map(([path]) => path.join('.'))).toEqual([]);
});

test.each(withDefault.map(([path, value]) => [path.join('.'), value, path] as const))(
  'the file shows the default of %s: %j',
  (_, value, path) => {
    expect(configSchema.parse(setAt(path, value))).toEqual(defaults);
  },
);
