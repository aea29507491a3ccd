/** Finds citations of documents, sections, decisions, guarantees and files of code without a target. */
import path from 'node:path';

/** The text of each file by its path from the root of the repository, with `/`. */
export type SourceFiles = ReadonlyMap<string, string>;

export interface Citation {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The cited target: `docs/design.md section 4.1`, `decision 7`, `G4`. */
  readonly target: string;
  /** Why the target does not exist; undefined if it does. */
  readonly fault: string | undefined;
}

const documentName = String.raw`(?:\.{1,2}/)*[A-Za-z0-9][\w./-]*\.md\b`;
const sectionNumber = String.raw`\d+(?:\.\d+)*`;
const documentPattern = new RegExp(String.raw`(?<![\w./:*\\-])${documentName}`, 'g');
const sectionPattern = new RegExp(
  String.raw`\b(?:[Ss]ection\s+${sectionNumber}|[Ss]ections\s+${sectionNumber}(?:(?:,|,?\s+and|\s+to)\s+${sectionNumber})*)`,
  'g',
);
const documentBefore = new RegExp(String.raw`(${documentName}|RFC\s+\d+),?\s+$`);
const documentAfter = new RegExp(String.raw`^\s+of\s+(${documentName}|RFC\s+\d+)`);

/** Every citation in `files`, checked against the documents among them. */
export function findCitations(files: SourceFiles): readonly Citation[] {
  return [...files].flatMap(([file, source]) => {
    const text = withoutGutters(source);
    const found = [
      ...documentsIn(file, text, files),
      ...sectionsIn(file, text, files),
      ...linksIn(file, text, files),
      ...decisionsIn(text, files),
      ...guaranteesIn(text, files),
      ...codeIn(file, source, files),
    ];
    return found.map(({ at, target, fault }) => ({ file, line: text.slice(0, at).split('\n').length, target, fault }));
  });
}

/** Citations without a target, one line each: `FILE:LINE: TARGET: FAULT`. */
export function danglingCitations(files: SourceFiles): readonly string[] {
  return findCitations(files).flatMap(({ file, line, target, fault }) =>
    fault === undefined ? [] : [`${file}:${line}: ${target}: ${fault}`],
  );
}

/** The numbered headings of a Markdown document: `4` of `## 4. Jobs`, `4.1` of `### 4.1 Export`. */
export function sectionsOf(document: string): ReadonlySet<string> {
  return new Set([...document.matchAll(/^##+ (\d+(?:\.\d+)*)\.? /gm)].map(([, section = '']) => section));
}

/** The ids of the guarantees in the headings of a document: `G4` of `## G4 Only a complete read …`. */
export function guaranteeIdsOf(document: string): ReadonlySet<string> {
  return new Set([...document.matchAll(/^## (G\d+) /gm)].map(([, id = '']) => id));
}

interface Found {
  /** Offset in the text. */
  readonly at: number;
  readonly target: string;
  readonly fault: string | undefined;
}

/** Blanks the prefix of comment lines, so that a citation may continue on the next line; offsets stay. */
function withoutGutters(source: string): string {
  return source.replaceAll(/^[ \t]*(?:\*|\/\/|#)(?=[ \t])/gm, (gutter) => ' '.repeat(gutter.length));
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** A document is cited by its path from the root or from the folder of the citing file; within docs also from there. */
function documentCited(name: string, file: string, files: SourceFiles): string | undefined {
  const folders = ['.', path.posix.dirname(file), ...(file.startsWith('docs/') ? ['docs'] : [])];
  return folders.map((folder) => path.posix.join(folder, name)).find((candidate) => files.has(candidate));
}

/** `NNNN-title.md` is the pattern of a name, not a name. */
function documentsIn(file: string, text: string, files: SourceFiles): readonly Found[] {
  return [...text.matchAll(documentPattern)]
    .filter(([name]) => !name.includes('NNNN'))
    .map(({ 0: target, index: at }) => ({
      at,
      target,
      fault: documentCited(target, file, files) === undefined ? 'no such document' : undefined,
    }));
}

/** A section without a document refers to the same document, and is a fault in any other file. */
function sectionsIn(file: string, text: string, files: SourceFiles): readonly Found[] {
  return [...text.matchAll(sectionPattern)].flatMap(({ 0: cited, index: at }) => {
    const before = documentBefore.exec(text.slice(Math.max(0, at - 200), at))?.[1];
    const name = before ?? documentAfter.exec(text.slice(at + cited.length, at + cited.length + 200))?.[1];
    if (name?.startsWith('RFC') === true) return [];
    if (name === undefined && !file.endsWith('.md'))
      return [{ at, target: oneLine(cited), fault: 'of which document?' }];
    const document = name === undefined ? file : documentCited(name, file, files);
    // A missing document is reported as a fault of its own.
    if (document === undefined) return [];
    const sections = sectionsOf(files.get(document) ?? '');
    return [...cited.matchAll(/\d+(?:\.\d+)*/g)].map(([section]) => ({
      at,
      target: `${document} section ${section}`,
      fault: sections.has(section) ? undefined : 'no such section',
    }));
  });
}

/** Relative links of Markdown: the file and the heading in each. */
function linksIn(file: string, text: string, files: SourceFiles): readonly Found[] {
  if (!file.endsWith('.md')) return [];
  return [...text.matchAll(/\]\(([^)\s#:]*\.md)?(?:#([^)\s]+))?\)/g)].flatMap(({ 1: name, 2: anchor, index: at }) => {
    const document = name === undefined ? file : documentCited(name, file, files);
    if (document === undefined || anchor === undefined) return [];
    const isThere = anchorsOf(files.get(document) ?? '').has(anchor);
    return [{ at, target: `${document}#${anchor}`, fault: isThere ? undefined : 'no such heading' }];
  });
}

/** Anchors as GitHub generates them from headings. */
function anchorsOf(document: string): ReadonlySet<string> {
  return new Set(
    [...document.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function decisionsIn(text: string, files: SourceFiles): readonly Found[] {
  const records = [...files.keys()].map((name) => /^docs\/decisions\/(\d{4})-/.exec(name)?.[1]);
  const numbers = new Set(records.map(Number));
  return [...text.matchAll(/\b(?:decisions?\s+|decisions\/)(\d+)\b/gi)].map(({ 1: number, index: at }) => ({
    at,
    target: `decision ${Number(number)}`,
    fault: numbers.has(Number(number)) ? undefined : 'no such decision',
  }));
}

function guaranteesIn(text: string, files: SourceFiles): readonly Found[] {
  const ids = guaranteeIdsOf(files.get('docs/guarantees.md') ?? '');
  return [...text.matchAll(/\bG\d+\b/g)].map(({ 0: target, index: at }) => ({
    at,
    target,
    fault: ids.has(target) ? undefined : 'no such guarantee',
  }));
}

const codeName = /(?<![\w@:*{}<>$/.-])(?:\.{0,2}\/)?(?:[\w.-]+\/)*[\w-][\w.-]*\.(?:ts|tsx|mjs)\b(?![\w/*{])/g;
const comment = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm;

/** Names of files of code in a comment, or in a document: by the whole path, or by its end. */
function codeIn(file: string, source: string, files: SourceFiles): readonly Found[] {
  if (file.startsWith('docs/decisions/') || file === 'CHANGELOG.md') return [];
  const parts = file.endsWith('.md') ? [{ 0: source, index: 0 }] : [...source.matchAll(comment)];
  return parts.flatMap(({ 0: text, index: begin }) =>
    [...text.matchAll(codeName)].map(({ 0: target, index }) => ({
      at: begin + index,
      target,
      fault: isCode(target, files) ? undefined : 'no such file',
    })),
  );
}

function isCode(name: string, files: SourceFiles): boolean {
  const end = `/${name.replace(/^(?:\.{0,2}\/)+/, '')}`;
  return [...files.keys()].some((known) => `/${known}`.endsWith(end));
}
