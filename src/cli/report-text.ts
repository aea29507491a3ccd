/** Decides how the report of a run reads on a terminal. Pure. */
import type { RunFailure, RunReport } from '../core/run.ts';
import { endingSentence, nextSteps, unitWordsOf } from './run-words.ts';
import { tableText } from './table.ts';
import { counted, durationText, figure, printable, spacedName } from './words.ts';

const mostFailuresShown = 10;

/** In the order in which a record goes: read, then what became of it. Others follow by name. */
const countOrder: readonly string[] = [
  ['read', 'inserted', 'updated', 'unchanged', 'repeated', 'outsideWindow', 'quarantined', 'removed'],
  ['deleted', 'alreadyGone', 'refused', 'verifiedGone', 'stillThere', 'notVerified'],
].flat();

/** Told even when they are 0; the balance names every part of the sum anyway. */
const alwaysTold = ['read', 'inserted', 'updated', 'unchanged', 'removed'];

/** As many as the units: told already. */
const neverTold = ['windows'];

/** Lines of text, without a last line end. */
export function reportText(report: RunReport, exceptions: readonly string[]): string {
  const parts = [
    headText(report, exceptions),
    countsText(report),
    noticesText(report),
    failuresText(report),
    nextText(report),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function headText(report: RunReport, exceptions: readonly string[]): string {
  const hint = report.stopped?.hint;
  return [
    `Run ${report.runId}: ${report.job}`,
    printable(endingSentence(report, exceptions)),
    ...(hint === undefined ? [] : [printable(hint)]),
  ].join('\n');
}

function countsText(report: RunReport): string {
  const rows = [
    [unitWordsOf(report.job).many, figure(report.units.total), unitsInWords(report)],
    ...sortedCounts(report).map(([name, count]) => [spacedName(name), figure(count), '']),
    ['took', durationText(report.finishedAtMs - report.startedAtMs), paceText(report)],
  ];
  const table = tableText([{}, { align: 'right' }, {}], rows, '  ');
  const { balanced, statement } = report.balance;
  return `${table}\n\n  ${balanced ? 'It adds up' : 'It does not add up'}: ${statement}`;
}

function unitsInWords({ job, units }: RunReport): string {
  const parts = (['done', 'held', 'failed', 'cancelled'] as const).filter((state) => units[state] > 0);
  const { held } = unitWordsOf(job);
  return parts.map((state) => `${figure(units[state])} ${state === 'held' ? held : state}`).join(', ');
}

function sortedCounts(report: RunReport): ReadonlyArray<readonly [string, number]> {
  const rank = (name: string): number => (countOrder.includes(name) ? countOrder.indexOf(name) : countOrder.length);
  return toldCounts(report).toSorted(([left], [right]) => rank(left) - rank(right) || left.localeCompare(right));
}

function toldCounts({ counts }: RunReport): (readonly [string, number])[] {
  return Object.entries(counts).filter(
    ([name, count]) => !neverTold.includes(name) && (count !== 0 || alwaysTold.includes(name)),
  );
}

function paceText(report: RunReport): string {
  const seconds = (report.finishedAtMs - report.startedAtMs) / 1_000;
  const rows = report.counts['read'] ?? 0;
  return seconds > 0 && rows > 0 ? `${figure(rows / seconds)} rows/s` : '';
}

function noticesText({ notices }: RunReport): string {
  if (notices.length === 0) return '';
  return ['Notices', ...notices.map((notice) => `  - ${printable(notice)}`)].join('\n');
}

function failuresText(report: RunReport): string {
  const { units, stopped } = report;
  // What stopped the run has been told, and would be told again for every unit.
  const failures = report.failures.filter((failure) => failure.message !== stopped?.message);
  if (failures.length === 0) return '';
  const { one, many, held } = unitWordsOf(report.job);
  const shown = failures.slice(0, mostFailuresShown);
  const more = stopped === undefined ? units.failed + units.held - shown.length : failures.length - shown.length;
  return [
    `${many} that failed or are ${held}`.replace(/^./, (letter) => letter.toUpperCase()),
    ...shown.flatMap((failure) => failureLines(failure, held)),
    ...(more > 0 ? [`  and ${counted(more, one, many)} more: wellsync runs show ${report.runId} --json`] : []),
  ].join('\n');
}

function failureLines({ target, state, message, hint }: RunFailure, held: string): readonly string[] {
  const lines = [`  ${printable(target)}: ${state === 'held' ? held : state}, ${printable(message)}`];
  return hint === undefined ? lines : [...lines, `    ${printable(hint)}`];
}

function nextText(report: RunReport): string {
  const steps = nextSteps(report);
  if (steps.length === 0) return '';
  return `Next\n${tableText([{}, {}], steps, '  ')}`;
}
