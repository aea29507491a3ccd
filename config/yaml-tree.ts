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

// The files that hold secrets: those that settings name, and the configuration file where it holds one itself. Pure.

export interface SecretFile {
  /** `service.tokenFile`, or `the configuration file (service.token)`. */
  readonly called: string;
  readonly file: string;
}

/** Other parts have names of the operator's own: `export.lookbackByWell`, `push.aliases`. */
const parts = ['service', 'redis', 'warehouse', 'alerts'];
const fileName = /^(?:token|password|passphrase|clientSecret|secret|key)File$/;
const plainName = /^(?:token|password|passphrase|clientSecret)$/;
/** May hold a capability in their path or query. */
const secretUrls = ['alerts.url', 'alerts.heartbeatUrl'];
const passwordInUrl = /^\w+:\/\/[^/?#@]*:[^/?#]+@/;

/** `settings`: of all layers. `own`: the configuration file with what it says, whatever a higher layer says. */
export function secretFilesOf(
  settings: Tree,
  own?: { readonly file: string; readonly settings: Tree },
): readonly SecretFile[] {
  const named = textsOf(settings).filter(({ path, beside }) => namesSecret(path, beside));
  const plain = textsOf(own?.settings ?? {}).filter(({ path, text }) => isSecret(path, text));
  const ofOwn = own === undefined || plain[0] === undefined ? [] : [{ file: own.file, path: plain[0].path }];
  return [
    ...named.map(({ path, text }) => ({ called: path.join('.'), file: text })),
    ...ofOwn.map(({ file, path }) => ({ called: `the configuration file (${path.join('.')})`, file })),
  ];
}

/** A certificate without a key beside it holds its key too. */
function namesSecret(path: readonly string[], beside: Tree): boolean {
  const name = path.at(-1) ?? '';
  return fileName.test(name) || (name === 'certFile' && beside['keyFile'] === undefined);
}

function isSecret(path: readonly string[], text: string): boolean {
  return plainName.test(path.at(-1) ?? '') || secretUrls.includes(path.join('.')) || passwordInUrl.test(text);
}

interface Text {
  readonly path: readonly string[];
  readonly text: string;
  readonly beside: Tree;
}

function textsOf(settings: Tree, above: readonly string[] = []): readonly Text[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (above.length === 0 && !parts.includes(name)) return [];
    const path = [...above, name];
    if (isTree(value)) return textsOf(value, path);
    return typeof value === 'string' ? [{ path, text: value.trim(), beside: settings }] : [];
  });
}
