/** Prints the dry run of a push as text or JSON. */
import { lookDocument, type PipesLook, topologySentences } from '../../app/pushes/dry-run.ts';
import { shownCounts } from '../../app/runs/run-document.ts';
import { counted, printable } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Output } from '../output.ts';
import { balanceText, countRows, noticesText } from './report.ts';
import { tableText } from './table.ts';

/** Returns exit code 3 if rows were rejected, as the push would. */
export async function printLook(name: string, look: PipesLook, output: Output): Promise<ExitCode> {
  const exitCode = look.rejectsFile === undefined ? exitCodes.done : exitCodes.doneWithExceptions;
  if (output.json) await output.document(lookDocument(name, look, exitCode));
  else await output.report(lookText(name, look, output.width));
  return exitCode;
}

function lookText(name: string, look: PipesLook, width: number): string {
  const { rows, rejected } = look;
  const fine = rows === 0 ? 'There are no rows behind the header.' : 'Every row can be sent.';
  const outcome = rejected === 0 ? fine : `${counted(rejected, 'row')} would be rejected.`;
  const notices = [...look.notices, ...(look.topology === undefined ? [] : topologySentences(look.topology))];
  return [
    `${printable(name)}: checked, nothing sent\n${outcome}`,
    tableText([{}, { align: 'right' }, {}], countRows(shownCounts(look.counts, { counts: look.described })), '  '),
    balanceText(look.balance, width),
    noticesText(notices, width),
    look.rejectsFile === undefined ? '' : `Rejects: ${look.rejectsFile}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}
