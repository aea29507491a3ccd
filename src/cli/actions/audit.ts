import { auditDocument, auditHash, type AuditVerdict, deletionFilter } from '../../app/cleanups/audit.ts';
import { UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import type { BrokenRow } from '../../core/cleanup/audit-chain.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { readableDeletions } from '../text/cleanup-plan.ts';
import { printCsv, printJson, printTable } from '../text/query-formats.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface DeletionOptions {
  readonly since?: string;
  readonly target?: string;
  readonly run?: string;
  readonly csv?: true;
  readonly limit: number;
}

export interface VerifyOptions {
  readonly kept?: string;
}

export async function listDeletions(invocation: Invocation<DeletionOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  if (options.csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = configOf(invocation);
  const filter = deletionFilter(options, config.timeZone);
  await using app = openApp(config, output);
  await app.ledger.deletions.list(filter, async (result) => {
    if (output.json) await printJson(result, output);
    else if (options.csv) await printCsv(result, output);
    else await printTable(readableDeletions(result), output, options.limit);
  });
  return exitCodes.done;
}

export async function verifyAudit(invocation: Invocation<VerifyOptions>): Promise<ExitCode> {
  const { output, options } = invocation;
  const kept = auditHash(options.kept);
  await using app = openApp(configOf(invocation), output);
  const verdict = await app.ledger.deletions.verify(kept);
  const { broken } = verdict;
  if (output.json) {
    await output.document(auditDocument(verdict));
  } else {
    await output.report(broken === undefined ? wholeText(verdict) : brokenText(broken));
  }
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
