/**
 * `wellsync audit`: what was deleted, by whom and with which outcome, and the check that nobody changed these records.
 */
import type { AuditVerdict } from '../../app/cleanups/audit.ts';
import type { QueryResult } from '../../app/warehouse/query-file.ts';
import { UsageError } from '../../core/base/errors.ts';
import { counted, instantText } from '../../core/base/text.ts';
import type { BrokenRow } from '../../core/cleanup/audit-chain.ts';
import { type DeletionTarget, targetText } from '../../core/cleanup/target.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { type Call, type Flags, type ProgramCommand, type Texts, wholeNumber } from '../command.ts';

export function addAuditCommand(program: ProgramCommand): void {
  const group = program
    .command('audit')
    .description('what was deleted at the service, and whether the record of it is whole');
  group
    .command('deletions')
    .description('list deletions, the newest first')
    .option('--since <day>', 'from this day on, or from an ISO date-time on')
    .option('--target <id>', 'of this equipment, well or record, by its source id')
    .option('--run <run>', 'of this run')
    .option('--csv', 'print CSV with a header')
    .option('--limit <rows>', 'rows of the table at most; --json and --csv always print all', wholeNumber, 100)
    .explained(columnsExplanation, [
      'wellsync audit deletions --since 2024-03-01',
      'wellsync audit deletions --target "15/9-F-1 C" --csv',
    ])
    .runs(listDeletions);
  group
    .command('verify')
    .description('prove that no row of the audit was changed, removed or added')
    .option('--kept <hash>', 'a hash that an earlier verify showed: it must still stand in the audit')
    .explained(verifyExplanation, ['wellsync audit verify'])
    .runs(verifyAudit);
}

const columnsExplanation = `
In CSV, JSON and the table deletion_audit, owner_id is the source id of the well,
or of the equipment for a time series, and source_id that of the time series.
`;

const verifyExplanation = `
Every row holds the hash (SHA-256) of its content and of the row before it, and
every deletion that a run has settled must stand in a row. The hash of the last
row stands for all of them: keep it elsewhere, and --kept shows later that nobody
rewrote the whole audit. Exit code 1 where a row is broken.
`;

type DeletionOptions = Flags<'csv'> & Texts<'since' | 'target' | 'run'> & { readonly limit: number };

async function listDeletions(call: Call<DeletionOptions>): Promise<void> {
  const { deletionFilter } = await import('../../app/cleanups/audit.ts');
  const { printCsv, printJson, printTable } = await import('../text/query-formats.ts');
  const { options, output } = call;
  if (options.csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = await call.config();
  const filter = deletionFilter(options, config.timeZone);
  await using app = await call.openStored(config);
  await app.ledger.deletions.list(filter, async (result) => {
    if (output.json) await printJson(result, output);
    else if (options.csv) await printCsv(result, output);
    else await printTable(readableDeletions(result), output, options.limit);
  });
}

/** A row of `DeletionLedger.list`. */
type Cells = Readonly<Record<string, unknown>>;

/** Of the deletions as a table: a line each, the most important fields in the first columns. */
const columns: ReadonlyArray<{ readonly name: string; readonly type: string; readonly of: (cells: Cells) => unknown }> =
  [
    { name: 'noted at', type: 'VARCHAR', of: ({ noted_at }) => instantText(Date.parse(String(noted_at))) },
    { name: 'outcome', type: 'VARCHAR', of: ({ outcome }) => outcome },
    { name: 'target', type: 'VARCHAR', of: targetOf },
    { name: 'returned', type: 'BIGINT', of: ({ answer }) => answer },
    { name: 'verified', type: 'VARCHAR', of: ({ verification }) => verification },
    { name: 'by', type: 'VARCHAR', of: ({ requested_by }) => requested_by },
    { name: 'retried by', type: 'VARCHAR', of: ({ retried_by }) => retried_by },
    { name: 'run', type: 'VARCHAR', of: ({ run_id }) => run_id },
    { name: 'message', type: 'VARCHAR', of: ({ words }) => words },
    { name: 'plan', type: 'VARCHAR', of: ({ plan_id }) => plan_id },
    { name: 'service', type: 'VARCHAR', of: ({ service_url }) => service_url },
    { name: 'row', type: 'BIGINT', of: ({ seq }) => seq },
  ];

function targetOf({ kind, owner_id, source_id }: Cells): string {
  return targetText({ kind, ownerId: owner_id, sourceId: source_id } as DeletionTarget);
}

/** The deletions in a form for people: the target in one cell, and empty cells for null. */
function readableDeletions(list: QueryResult): QueryResult {
  return { columns: columns.map(({ name, type }) => ({ name, type })), rows: readableRows(list) };
}

async function* readableRows({ columns: given, rows }: QueryResult): AsyncGenerator<readonly unknown[]> {
  for await (const row of rows) {
    const cells = Object.fromEntries(given.map(({ name }, position) => [name, row[position]]));
    yield columns.map(({ of }) => of(cells) ?? '');
  }
}

async function verifyAudit(call: Call<Texts<'kept'>>): Promise<ExitCode> {
  const { auditDocument, auditHash } = await import('../../app/cleanups/audit.ts');
  const { output, options } = call;
  const kept = auditHash(options.kept);
  await using app = await call.openStored();
  const verdict = await app.ledger.deletions.verify(kept);
  const { broken } = verdict;
  await output.report(broken === undefined ? wholeText(verdict) : brokenText(broken), auditDocument(verdict));
  return broken === undefined ? exitCodes.done : exitCodes.failed;
}

function wholeText({ head: { rows, hash }, retries }: AuditVerdict): string {
  if (rows === 0) return 'The audit is empty: this warehouse knows of no deletion.';
  return [
    `The audit is whole: ${counted(rows, 'row')}, the last one with the hash`,
    `  ${hash}`,
    ...[...retries].map(([by, count]) => `Of a retry by ${by}: ${counted(count, 'row')}.`),
  ].join('\n');
}

function brokenText({ seq, reason }: BrokenRow): string {
  const before = seq === 1 ? [] : [`${counted(seq - 1, 'row before it is', 'rows before it are')} right.`];
  return [
    `The audit is broken: row ${seq} ${reason}.`,
    ...before,
    'Somebody wrote to the warehouse past wellsync: compare it with a backup.',
    `  wellsync query "SELECT * FROM deletion_audit WHERE seq >= ${Math.max(1, seq - 1)} ORDER BY seq"`,
  ].join('\n');
}
