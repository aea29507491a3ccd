/** Decides how a look through a file of pipes is told, as text and as JSON. */
import { balanceDryRun } from '../core/balance.ts';
import { balanceText, countRows, noticesText } from './counts-text.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';
import type { PipesLook } from './pipes-dry-run.ts';
import { tableText } from './table.ts';
import { topologySentences } from './topology-words.ts';
import { counted, printable } from './words.ts';

/** Exit code 3 where rows were rejected, as the push would end. */
export async function printLook(name: string, look: PipesLook, output: Output): Promise<ExitCode> {
  const exitCode = look.rejectsFile === undefined ? exitCodes.done : exitCodes.doneWithExceptions;
  if (output.json) await output.document(lookDocument(name, look, exitCode));
  else await output.print(lookText(name, look, output.width));
  return exitCode;
}

function lookDocument(file: string, look: PipesLook, exitCode: ExitCode) {
  const { counts, notices, rejectsFile, topology } = look;
  return {
    file,
    dryRun: true,
    counts,
    balance: balanceDryRun(counts),
    rejectsFile: rejectsFile ?? null,
    notices,
    topology: topology ?? null,
    exitCode,
  };
}

function lookText(name: string, look: PipesLook, width: number): string {
  const rejected = look.counts['rejectedByUs'] ?? 0;
  const { rows = 0 } = look.counts;
  const fine = rows === 0 ? 'There are no rows behind the header.' : 'Every row can be sent.';
  const outcome = rejected === 0 ? fine : `${counted(rejected, 'row')} would be rejected.`;
  const notices = [...look.notices, ...(look.topology === undefined ? [] : topologySentences(look.topology))];
  return [
    `${printable(name)}: checked, nothing sent\n${outcome}`,
    tableText([{}, { align: 'right' }, {}], countRows(look.counts), '  '),
    balanceText(balanceDryRun(look.counts), width),
    noticesText(notices, width),
    look.rejectsFile === undefined ? '' : `Rejects: ${look.rejectsFile}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}
