/** Decides how the report of a run reads on a terminal. Pure. */
import type { RunFailure, RunReport } from '../core/run.ts';
import { balanceText, countRows, noticesText } from './counts-text.ts';
import { folded, foldedHint } from './folded-text.ts';
import { rowsOf } from './run-progress.ts';
import { nextStepsText } from './next-steps.ts';
import { endingSentence, nextSteps, unitWordsOf, wholeFault } from './run-words.ts';
import { tableText } from './table.ts';
import { counted, durationText, figure, printable } from './words.ts';

const mostFailuresShown = 10;

/** Lines of text, without a last line end; prose keeps to `width` columns. */
export function reportText(report: RunReport, exceptions: readonly string[], width: number): string {
  const parts = [
    headText(report, exceptions, width),
    countsText(report, width),
    noticesText(report.notices, width),
    failuresText(report, width),
    nextStepsText(nextSteps(report), width),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function headText(report: RunReport, exceptions: readonly string[], width: number): string {
  const hint = wholeFault(report)?.hint;
  return [
    `Run ${report.runId}: ${report.job}`,
    folded(printable(endingSentence(report, exceptions)), width),
    ...(hint === undefined ? [] : [foldedHint(printable(hint), width)]),
  ].join('\n');
}

function countsText(report: RunReport, width: number): string {
  const { many, isSingle } = unitWordsOf(report.job);
  const rows = [
    ...(isSingle ? [] : [[many, figure(report.units.total), unitsInWords(report)]]),
    ...countRows(report.counts),
    ['took', durationText(report.finishedAtMs - report.startedAtMs), paceText(report)],
  ];
  return `${tableText([{}, { align: 'right' }, {}], rows, '  ')}\n\n${balanceText(report.balance, width)}`;
}

function unitsInWords({ job, units }: RunReport): string {
  const parts = (['done', 'held', 'failed', 'cancelled'] as const).filter((state) => units[state] > 0);
  const { held } = unitWordsOf(job);
  return parts.map((state) => `${figure(units[state])} ${state === 'held' ? held : state}`).join(', ');
}

function paceText(report: RunReport): string {
  const seconds = (report.finishedAtMs - report.startedAtMs) / 1_000;
  const rows = rowsOf(report);
  return seconds > 0 && rows > 0 ? `${figure(rows / seconds)} rows/s` : '';
}

function failuresText(report: RunReport, width: number): string {
  const { units, stopped } = report;
  // What stopped the run has been told, and would be told again for every unit.
  const failures = report.failures.filter((failure) => failure.message !== wholeFault(report)?.message);
  if (failures.length === 0) return '';
  const { one, many, held } = unitWordsOf(report.job);
  const shown = failures.slice(0, mostFailuresShown);
  const more = stopped === undefined ? units.failed + units.held - shown.length : failures.length - shown.length;
  return [
    `${many} that failed or are ${held}`.replace(/^./, (letter) => letter.toUpperCase()),
    ...shown.flatMap((failure) => failureLines(failure, held)).map((line) => folded(line, width, '    ')),
    ...(more > 0 ? [`  and ${counted(more, one, many)} more: wellsync runs show ${report.runId} --json`] : []),
  ].join('\n');
}

function failureLines({ target, state, message, hint }: RunFailure, held: string): readonly string[] {
  // Beside its name the message need not name it again.
  const words = message.startsWith(`${target}: `) ? message.slice(target.length + 2) : message;
  const lines = [`  ${printable(target)}: ${state === 'held' ? held : state}, ${printable(words)}`];
  return hint === undefined ? lines : [...lines, `    ${printable(hint)}`];
}
