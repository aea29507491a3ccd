/** `wellsync verify`: compares daily production at the service with the warehouse. */
import { InvalidArgumentError } from 'commander';
import type { VerificationPlan, VerificationSummary } from '../../app/wells/verification.ts';
import { boundText, counted, figure, instantText } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { highestSeed } from '../../core/verify/sample.ts';
import {
  type Call,
  collected,
  type Flags,
  type Lists,
  type Numbers,
  type ProgramCommand,
  type StartOptions,
  type Texts,
  wholeNumber,
} from '../command.ts';

export function addVerifyCommand(program: ProgramCommand): void {
  program
    .command('verify')
    .description('compare daily production at the service with the warehouse; change nothing')
    .option('--uwi <uwi>', 'a well; may be given more than once (all that were read)', collected)
    .option('--from <day>', 'from this day on (the last 90 days)')
    .option('--to <day>', 'up to this day, which is the first one left out')
    .option('--all', 'the whole history of each well')
    .option('--sample <count>', 'so many of the wells, chosen by the seed', wholeNumber)
    .option('--seed <number>', 'chooses the same wells again (a random one)', seedNumber)
    .option('--dry-run', 'say what would be read, and start nothing')
    .starts()
    .explained(explanation, [
      'wellsync verify --inline',
      'wellsync verify --all --sample 50 --seed 7 --inline',
      'wellsync verify --uwi "15/9-F-1 C" --from 2024-01-01 --to 2024-04-01 --wait --json',
    ])
    .runs(verify);
}

const explanation = `
Each well is read to its verified end, within the limits of the service, and compared
record by record, as an export would. Nothing is written but the run: no row, no
watermark, no alert. A record of a day that was not over when its well was last read
is no difference. The report ends with the export that would put it right.

Classes
  same           equal in every field
  differing      other values, or another xid on the same day
  missing here   the service has it; the warehouse has it neither as a row nor in
                 quarantine
  missing there  the warehouse has it, the service does not
  held           missing there, and held until it is back or released
  quarantined    breaks the contract, and stands in quarantine here
  accepted       the same, and accepted by a person
  not yet read   of a day behind the last read of its well

Exit codes
  0  the same; without --wait or --inline: queued
  1  some wells could not be read
  2  wrong use
  3  differing, missing here or missing there
  4  cancelled, or interrupted by Ctrl-C
  5  could not reach the queue, the warehouse or the service
`;

function seedNumber(text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) <= highestSeed) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number, up to ${highestSeed}.`);
}

type VerifyOptions = StartOptions &
  Flags<'all' | 'dryRun'> &
  Texts<'from' | 'to'> &
  Numbers<'sample' | 'seed'> &
  Lists<'uwi'>;

const names = { uwis: '--uwi', from: '--from', to: '--to', all: '--all', sample: '--sample', seed: '--seed' };

async function verify(call: Call<VerifyOptions>): Promise<ExitCode> {
  const { planOfVerification, requestVerification } = await import('../../app/wells/verification.ts');
  const { startAndCarryOut } = await import('../carry-out.ts');
  const { uwi: uwis, from, to, all, sample, seed, dryRun } = call.options;
  await using app = await call.openApp();
  const request = await requestVerification(app, { uwis, from, to, all, sample, seed }, { nowMs: Date.now(), names });
  if (dryRun) {
    const plan = await planOfVerification(app, request);
    await call.output.print(planText(plan), plan);
    return exitCodes.done;
  }
  const { summary } = request;
  const fields = { wells: summary.wells, ...(summary.sample === undefined ? {} : { seed: summary.sample.seed }) };
  return await startAndCarryOut(call, app, request, { title: titleOf(summary), fields });
}

/** The title of a run, after its id: `comparison of 50 of 7,000 wells (seed 7) from 2024-01-01`. Pure. */
function titleOf({ wells, sample, isWhole, fromMs, toMs }: VerificationSummary): string {
  const which =
    sample === undefined
      ? counted(wells, 'well')
      : `${figure(wells)} of ${counted(sample.of, 'well')} (seed ${sample.seed})`;
  const since = fromMs === undefined ? '' : ` from ${boundText(fromMs)}`;
  const until = toMs === undefined ? '' : ` to ${boundText(toMs)}`;
  const days = isWhole ? ', their whole history' : since === '' && until === '' ? ', the last 90 days' : '';
  return `comparison of ${which}${since}${until}${days}`;
}

const mostNamed = 20;

function planText({ wells, sample, from, to, chunks, expectedRequests, windows }: VerificationPlan): string {
  const of = sample === null ? '' : ` (of ${figure(sample.of)}, by the seed ${sample.seed})`;
  const items = `${counted(wells, 'well')}${of} in ${counted(chunks, 'queue item')}`;
  const bounds = `from ${instantText(Date.parse(from))} to ${instantText(Date.parse(to))}`;
  const more = windows.length - mostNamed;
  const named = windows.slice(0, mostNamed).map(({ uwi }) => `  ${uwi}`);
  return [
    `Nothing is started. It would read ${items}, ${bounds}: about ${counted(expectedRequests, 'request')}.`,
    '',
    ...named,
    ...(more > 0 ? [`  (${counted(more, 'more well')}: --json)`] : []),
  ].join('\n');
}
