/** A configuration file as a tree of settings. Pure. */
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { UsageError } from '../src/core/base/errors.ts';

/** Settings by name, nested as in the file. */
export type Tree = { [key: string]: unknown };

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A name that JavaScript gives a meaning of its own: it would vanish from a tree without a word. */
const reservedName = '__proto__';

/** Throws UsageError for a text that is not YAML, and with every name that no setting can have. */
export function treeOfYaml(source: string, file: string): Tree {
  const tree = valueOf(source, file) ?? {};
  if (!isTree(tree)) {
    throw new UsageError(`the configuration file ${file} must hold settings by name, such as "timeZone: UTC"`);
  }
  const issues = reservedIn(tree).map((path) => `${path} (${file}): cannot be named so`);
  if (issues.length > 0) throw new UsageError(`the configuration file ${file} has a name that is reserved`, { issues });
  return tree;
}

/** Gives the line of a setting in the file, or of the nearest one above it; undefined for one that the file does not have. */
export function linesOf(source: string): (path: readonly string[]) => number | undefined {
  const lines = new LineCounter();
  const { contents } = parseDocument(source, { lineCounter: lines });
  return (path) => {
    let node: unknown = contents;
    let offset: number | undefined;
    for (const name of path) {
      const [key, value] = memberOf(node, name);
      if (!isNode(key)) break;
      offset = key.range?.[0];
      node = value;
    }
    return offset === undefined ? undefined : lines.linePos(offset).line;
  };
}

/** The member of a list stands for its own name. */
function memberOf(node: unknown, name: string): readonly [key: unknown, value: unknown] {
  if (isSeq(node)) return [node.items[Number(name)], node.items[Number(name)]];
  if (!isMap(node)) return [undefined, undefined];
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
  return [pair?.key, pair?.value];
}

function valueOf(source: string, file: string): unknown {
  const document = documentOf(source, file);
  // Further faults follow from the first.
  const [fault] = document.errors;
  if (fault?.code === 'RESOURCE_EXHAUSTION' || /call stack/.test(fault?.message ?? '')) throw tooMuch(file, fault);
  if (fault !== undefined) {
    const [start] = fault.linePos ?? [];
    const where = start === undefined ? file : `${file}, line ${start.line}, column ${start.col}`;
    const issues = [`${where}: ${sentenceOf(fault.message)}`];
    throw new UsageError(`the configuration file ${file} is not YAML`, { issues });
  }
  try {
    return document.toJS();
  } catch (error) {
    throw tooMuch(file, error);
  }
}

function documentOf(source: string, file: string): Document.Parsed {
  try {
    return parseDocument(source, { prettyErrors: true });
  } catch (error) {
    throw tooMuch(file, error);
  }
}

/** Aliases that multiply (a few lines can stand for millions), an alias of nothing, or nesting without end. */
function tooMuch(file: string, cause: unknown): UsageError {
  const isUnknown = cause instanceof Error && cause.message.startsWith('Unresolved alias');
  const why = isUnknown ? 'an alias (*) names no anchor (&)' : 'its aliases or its nesting make it too large';
  return new UsageError(`the configuration file ${file} cannot be used: ${why}`, {
    hint: 'Write the values out: a configuration needs no aliases.',
    cause,
  });
}

/** The parser's words without the place, which it puts at their end, and the lines of the file that it quotes (G10). */
function sentenceOf(message: string): string {
  const [first = ''] = message.split('\n');
  return first.replace(/(?: at line \d+, column \d+)?:?$/, '');
}

function reservedIn(tree: Tree, above: readonly string[] = []): readonly string[] {
  return Object.entries(tree).flatMap(([name, value]) => {
    const path = [...above, name];
    if (name === reservedName) return [path.join('.')];
    return isTree(value) ? reservedIn(value, path) : [];
  });
}
