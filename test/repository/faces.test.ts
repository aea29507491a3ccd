/**
 * Checks the two halves of one rule: no face knows a job or a count by name, and nothing below the faces words messages
 * for one of them.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { describeList } from '../../jobs/definitions.ts';
import { recordLists } from '../../src/core/definitions/record-list.ts';
import type { CountDescription, JobDescription } from '../../src/core/run/job-description.ts';

interface Described {
  readonly name?: string;
  readonly counts: readonly CountDescription[];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isNamed = (value: unknown): boolean => isObject(value) && 'name' in value;

/** What the files of the jobs export: descriptions of jobs, and counts alone. */
const described: readonly Described[] = await Promise.all(
  filesOf('jobs').map((file) => import(path.resolve(file)) as Promise<Readonly<Record<string, unknown>>>),
).then((modules) =>
  modules.flatMap((module) =>
    Object.values(module).flatMap((value) => {
      if (Array.isArray(value)) return value.every(isNamed) ? [{ counts: value as readonly CountDescription[] }] : [];
      return isObject(value) && 'counts' in value ? [value as JobDescription] : [];
    }),
  ),
);
const lists = recordLists.map(describeList);
const jobNames = new Set([...described, ...lists].flatMap(({ name }) => (name === undefined ? [] : [name])));
const countNames = new Set(described.flatMap(({ counts }) => counts).map(({ name }) => name));

function filesOf(...folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => path.posix.join(folder, name)),
  );
}

type Node = Readonly<Record<string, unknown>>;

/** Every node of the syntax tree of a source text. */
function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Node;
  for (const child of Object.values(value)) yield* nodesOf(child);
}

function nodesIn(file: string, source = readFileSync(file, 'utf8')): readonly Node[] {
  return [...nodesOf(parseSync(file, source).program)];
}

/** The text of a string or of a part of a template. */
function textOf(node: unknown): string | undefined {
  const { type, value } = (node ?? {}) as Node;
  if (type === 'Literal' && typeof value === 'string') return value;
  return type === 'TemplateElement' ? (value as { readonly raw: string }).raw : undefined;
}

function nameOf(node: unknown): string | undefined {
  const { type, name, property } = (node ?? {}) as Node;
  if (type === 'Identifier') return String(name);
  return type === 'MemberExpression' ? (nameOf(property) ?? textOf(property)) : textOf(node);
}

/** Names of jobs and counts that a source text knows: `counts.read`, `rejectedByUs`, `'cleanup'`, `cleanupJobName`. */
function namesKnown(file: string, source?: string): readonly string[] {
  return nodesIn(file, source).flatMap((node) => {
    const name = nameOf(node) ?? '';
    const isDistinctive = countNames.has(name) && /[A-Z]/.test(name);
    const isOfCounts =
      node['type'] === 'MemberExpression' && nameOf(node['object']) === 'counts' && countNames.has(name);
    const isOfJob = jobNames.has(textOf(node) ?? '') || name.endsWith('JobName');
    return isDistinctive || isOfCounts || isOfJob ? [`${file}: ${name}`] : [];
  });
}

const command =
  /\bwellsync (?:--|audit|cleanup|coverage|doctor|export|probe|push|query|restatements|runs|service|testing|worker)|(?:^|[\s(])--[a-z]/;

/** Texts of a program that name a command or a flag of the command line. The name of a job is a name. */
function commandsNamed(file: string, source?: string): readonly string[] {
  return nodesIn(file, source).flatMap((node) => {
    const text = textOf(node) ?? '';
    return !jobNames.has(text) && command.test(text) ? [`${file}: ${text}`] : [];
  });
}

test('the descriptions of the jobs are found', () => {
  expect(jobNames).toContain('export daily-production --gaps');
  expect(countNames).toContain('alreadyGone');
  expect(countNames).toContain('sendable');
});

describe('no face knows a job by name', () => {
  // A command that starts a job names it.
  const commands = /^src\/cli\/commands\//;

  test('nor a count: both come from the description of the job', () => {
    const faces = filesOf('src/cli', 'src/console').filter((file) => !commands.test(file));
    expect(faces).toContain('src/cli/text/runs.ts');
    expect(faces.flatMap((file) => namesKnown(file))).toEqual([]);
  });

  test.each([
    ["const rows = counts['read'] ?? counts.rows;", ['read', 'rows']],
    ["if (job === 'export wells') return;", ['export wells']],
    ["import { cleanupJobName } from './job.ts';", ['cleanupJobName']],
    ["const order = ['rejectedByUs'];", ['rejectedByUs']],
    ["const state = 'failed';", []],
  ])('%s knows %j', (source, names) => {
    expect(new Set(namesKnown('a.ts', source))).toEqual(new Set(names.map((name) => `a.ts: ${name}`)));
  });
});

describe('nothing below the faces names a command or a flag', () => {
  // They check flags of the command line, and name them: no face has given them other names yet.
  const requests = /^src\/app\/cleanups\/(?:audit|plan|cleanup-targets)\.ts$/;

  test('but gives an action, which each face words', () => {
    const below = filesOf(
      'src/core',
      'src/runs',
      'src/queue',
      'src/warehouse',
      'src/service',
      'src/pipes',
      'src/app',
      'jobs',
    ).filter((file) => !requests.test(file));
    expect(below).toContain('src/core/daily/merge.ts');
    expect(below).toContain('src/app/exports/daily-production.ts');
    expect(below.flatMap((file) => commandsNamed(file))).toEqual([]);
  });

  test.each([
    ["const hint = 'Then: wellsync runs retry 4';", 1],
    ['const hint = `See wellsync runs show ${runId}.`;', 1],
    ["const hint = 'Export it again with --allow-shrink.';", 1],
    ["const message = 'this wellsync knows 4';", 0],
    ["const name = 'export daily-production --gaps';", 0],
  ])('%s: %d found', (source, count) => {
    expect(commandsNamed('a.ts', source)).toHaveLength(count);
  });
});

describe('no page knows what lies behind a document', () => {
  /** Words, roles and the descriptions of jobs, which are documents themselves. */
  const shown = /^core\/(?:base\/(?:text|action)|run\/(?:job-description|role|run))\.ts$/;

  function importsOf(file: string): readonly string[] {
    return nodesIn(file).flatMap(({ type, source }) => {
      const name = type === 'ImportDeclaration' ? textOf(source) : undefined;
      return name?.startsWith('.') === true ? [path.posix.join(path.posix.dirname(file), name)] : [];
    });
  }

  test('but takes what --json and the API give', () => {
    const pages = filesOf('src/console/pages');
    expect(pages).toContain('src/console/pages/run.tsx');
    const behind = pages.flatMap((file) =>
      importsOf(file)
        .filter((name) => !/^src\/(?:app|console)\//.test(name) && !shown.test(name.replace(/^src\//, '')))
        .map((name) => `${file}: ${name}`),
    );
    expect(behind).toEqual([]);
  });

  test('nor the types of a run, a plan or a hold that the ledger stores', () => {
    const stored = new Set(['RunRecord', 'RunSummary', 'RunReport', 'CleanupPlan', 'PlannedTarget', 'HeldRows']);
    const known = filesOf('src/console/pages').flatMap((file) =>
      nodesIn(file).flatMap((node) => (stored.has(nameOf(node) ?? '') ? [`${file}: ${nameOf(node)}`] : [])),
    );
    expect(known).toEqual([]);
  });
});

describe('no table of a list of records is named by hand', () => {
  /** Names of these tables in SQL; in the warehouse also alone, where a text is no word of the command line. */
  function tablesNamed(file: string, tables: readonly string[], source?: string): readonly string[] {
    const names = `(?:${tables.join('|')})(?:_history)?`;
    const inSql = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE|TABLE|ON) "?${names}\\b`);
    const alone = new RegExp(`^${names}$`);
    return nodesIn(file, source).flatMap((node) => {
      const text = textOf(node) ?? '';
      const isTable = inSql.test(text) || (file.startsWith('src/warehouse/') && alone.test(text));
      return isTable ? [`${file}: ${text}`] : [];
    });
  }

  test('each follows from its entry', () => {
    const tables = recordLists.map(({ table }) => table);
    const named = filesOf('src', 'jobs', 'config').flatMap((file) => tablesNamed(file, tables));
    expect(named).toEqual([]);
  });

  test.each([
    ['src/warehouse/a.ts', "const tables = ['completion'];", 1],
    ['src/warehouse/a.ts', "const columns = ['completion_id'];", 0],
    ['src/app/a.ts', 'const sql = `SELECT 1 FROM completion_history`;', 1],
    ['src/app/a.ts', 'const sql = `INSERT INTO "completion" VALUES (1)`;', 1],
    ['src/cli/a.ts', "program.command('completion');", 0],
    ['src/cli/a.ts', "const help = 'wellsync completion prints the completion of a shell';", 0],
  ])('%s: %s names %d', (file, source, count) => {
    expect(tablesNamed(file, ['completion'], source)).toHaveLength(count);
  });
});
