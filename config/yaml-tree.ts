/** A configuration file as a tree of settings, and documents as YAML. Pure. */
import { type Document, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, stringify } from 'yaml';
import { UsageError } from '../src/core/base/errors.ts';

/** Settings by name, nested as in the file. */
export type Tree = { [key: string]: unknown };

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A name that JavaScript gives a meaning of its own: it would vanish from a tree without a word. */
const reservedName = '__proto__';

/** A document as YAML, each text on one line. */
export function yamlOf(document: Tree): string {
  return stringify(document, { lineWidth: 0 });
}

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
    const value: unknown = document.toJS();
    // Throws a TypeError for a ring: an alias within what it names.
    JSON.stringify(value);
    return value;
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

/**
 * Gives the line of a setting in the text of a file, from 1: where it is absent, that of the section that should have it, as
 * far as the file has one.
 */
export function settingLines(source: string): (path: readonly string[]) => number | undefined {
  const lines = new LineCounter();
  const { contents } = parseDocument(source, { lineCounter: lines });
  return (path) => {
    let node: unknown = contents;
    let line: number | undefined;
    for (const name of path) {
      const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === name) : undefined;
      const item = isSeq(node) ? node.items[Number(name)] : undefined;
      const found = pair?.key ?? item;
      if (!isNode(found)) return line;
      line = lines.linePos(found.range?.[0] ?? 0).line;
      node = isPair(pair) ? pair.value : item;
    }
    return line;
  };
}

/** Aliases that multiply (a few lines can stand for millions), one of nothing or of what holds it, or nesting without end. */
function tooMuch(file: string, cause: unknown): UsageError {
  const isUnknown = cause instanceof Error && cause.message.startsWith('Unresolved alias');
  const isRing = cause instanceof TypeError;
  const why = isUnknown
    ? 'an alias (*) names no anchor (&)'
    : isRing
      ? 'an alias (*) lies within what its anchor (&) names'
      : 'its aliases or its nesting make it too large';
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
