/** Prints restatements as a table with their totals, as CSV or as JSON. */
import { readRestatements, requestRestatements } from '../../app/wells/restatements.ts';
import { UsageError } from '../../core/base/errors.ts';
import type { Restatement } from '../../core/daily/restatement.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { openApp } from './open-app.ts';
import type { Output } from '../output.ts';
import { printCsv, printJsonLines, printTable } from '../text/query-formats.ts';
import { readableRestatements, RestatementTotals, restatementTable } from '../text/restatements.ts';
import { configOf } from './config.ts';

export interface RestatementsOptions {
  readonly since?: string;
  readonly until?: string;
  readonly uwi?: readonly string[];
  readonly csv?: true;
  readonly limit: number;
}

const flags = { since: '--since', until: '--until' };

export async function listRestatements(invocation: Invocation<RestatementsOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  const { since, until, uwi: uwis, csv, limit } = options;
  if (csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const config = configOf(invocation);
  const { timeZone } = config;
  const question = requestRestatements({ since, until, uwis }, { timeZone, nowMs: Date.now(), names: flags });
  await using app = openApp(config, output);
  await readRestatements(app, question, async (lines) => {
    if (output.json) await printJsonLines(lines, output);
    else if (csv) await printCsv(restatementTable(lines), output);
    else await printListed(lines, output, limit);
  });
  return exitCodes.done;
}

/** Prints the first lines as a table, then the number of each change. */
async function printListed(lines: AsyncIterable<Restatement>, output: Output, limit: number): Promise<void> {
  const totals = new RestatementTotals();
  await printTable(readableRestatements(totals.over(lines), output.width), output, limit);
  await output.print(totals.text());
}
