/**
 * The text of an operator's next action for the command line: a sentence below an error, or a command below a report; and
 * the text of the error that ends a command.
 */
import type { Action, NextAction } from '../../core/base/action.ts';
import { faultOf, UsageError, WellsyncError } from '../../core/base/errors.ts';
import { isoInstant } from '../../core/base/text.ts';
import type { JobDescription } from '../../core/run/job-description.ts';
import type { Backfill } from '../../core/verify/difference.ts';
import { shellWord } from '../output.ts';
import { folded, foldedHint } from './table.ts';

type Wording<A extends { readonly kind: string }, Result, Details extends unknown[] = []> = {
  readonly [Kind in A['kind']]: (action: Extract<A, { readonly kind: Kind }>, ...details: Details) => Result;
};

/** Settings that also have a variable and a flag. */
const settings: Readonly<Record<string, { readonly variable: string; readonly flag: string; readonly trial: string }>> =
  {
    'service.url': {
      variable: 'WELLSYNC_SERVICE_URL',
      flag: '--service-url',
      trial: ' To try without one: wellsync testing-server',
    },
  };

function setSetting(setting: string): string {
  const known = settings[setting];
  if (known === undefined) return `Set ${setting} in the configuration.`;
  return `Set ${known.variable}, ${known.flag} or ${setting} in the configuration.${known.trial}`;
}

function checkAddress(setting: string): string {
  const known = settings[setting];
  const also = known === undefined ? setting : `${known.variable} (or ${known.flag}, or ${setting})`;
  return `Check ${also}, and that the service is up.`;
}

const sentences: Wording<Action, string> = {
  'show-run': ({ runId }) => `See what it did: wellsync runs show ${runId}`,
  'look-at-run': ({ runId }) => `See why: wellsync runs show ${runId}. End it: wellsync runs cancel ${runId}`,
  'list-runs': () => 'wellsync runs list shows the runs that there are.',
  'list-held': () => 'wellsync runs held lists what is held, and by which run.',
  'list-alerts': () => 'wellsync alerts list shows what is open.',
  'accept-alerts': ({ ids }) => `Accept it as it is: wellsync alerts accept ${ids.join(' ')} --because TEXT`,
  backfill: (backfill) => `Read these days again: ${backfillCommand(backfill)}`,
  'retry-run': ({ runId }) => `Retry what is not done: wellsync runs retry ${runId}`,
  'start-worker': () => 'Start one with: wellsync worker. Without one, runs need --inline.',
  'first-export': () => 'Run an export first if there is none: wellsync export daily-production',
  'probe-other-well': () => 'Name another well with --uwi, one with some months of data.',
  'save-query-result': () => 'To keep a result: wellsync query SQL --output FILE.parquet (or .csv, .ndjson).',
  'push-wide': () => 'If not, insist on the wide form with --wide.',
  'push-again': ({ file, form }) =>
    `Push it again: wellsync push network-pipes ${shellWord(file)}${form === 'auto' ? '' : ` --${form}`} --again`,
  'ignore-unknown-columns': () => 'To ignore the unknown columns: --ignore-unknown-columns.',
  'name-delimiter': ({ delimiter }) =>
    `Then say so: --delimiter ${delimiter === '\t' ? 'tab' : `"${delimiter}"`} (or push.delimiter in the configuration).`,
  'allow-empty': () => 'Where it may be empty, say so with --allow-empty: the command then ends with 0.',
  'cleanup-from-file': () => 'For the time series of more equipment give a file: wellsync cleanup --file targets.csv',
  'adopt-service': () => 'Name the service that it belongs to, once: wellsync service adopt ADDRESS',
  'adopt-inbox': () => 'Where this installation is to have it from now on: wellsync inbox adopt',
  'confirm-unattended': () => 'Give --yes, after a look with --dry-run.',
  'release-service': () => 'To send requests before: wellsync service release',
  overwrite: () => 'Name another file, or give --force.',
  'replace-token': ({ name, role }) =>
    `Put another line in place of its own: wellsync token create ${name} --role ${role} --expires DAY. Where nobody uses it, remove it.`,
  'use-queue': ({ queue }) => `To change it once and for all: wellsync queue use ${queue}`,
  'show-service': () => 'See which that is: wellsync service show',
  'move-service': ({ from, to = 'NEW' }) =>
    `Where the same service has a new address: wellsync service moved ${from} ${to}`,
  'doctor-well': () => 'Name a well that the service has: wellsync doctor --uwi UWI',
  'list-variables': () => 'wellsync --help names the variables.',
  'protect-file': ({ file, owner }) => protectFile(shellWord(file), owner),
  'set-setting': ({ setting }) => setSetting(setting),
  'check-address': ({ setting }) => checkAddress(setting),
  'release-rows': ({ runId }) => `If the service is right, release them: wellsync runs release ${runId}`,
  'show-coverage': () => 'See which days have a row: wellsync coverage',
  'show-quarantine': () => `See the records: ${quarantineQuery}`,
  'show-unknown': () => 'See the wells: wellsync coverage --unknown',
  'show-unknown-definitions': () => `See them: ${unknownQuery}`,
  'show-restated': ({ sinceMs }) => `See what was: wellsync restatements --since ${isoInstant(sinceMs).slice(0, 10)}`,
  'show-findings': ({ uwi }) => `See each day: wellsync checks show --uwi ${shellWord(uwi)}`,
  'show-stale': () => 'See the wells: wellsync coverage --stale',
  rezone: () =>
    'wellsync warehouse rezone dates the rows, and goes on where it was; with --dry-run it says what changes.',
  'get-rejects': ({ runId }) =>
    `Get the rows (wellsync runs rejects ${runId} > rejects.csv), correct them, and push them: wellsync push network-pipes rejects.csv --corrects ${runId}`,
  'audit-run': ({ runId }) => `See every target: wellsync audit deletions --run ${runId}`,
  'plan-cleanup': () => 'Make a new plan: wellsync cleanup --help',
};

/** Who does not own the file must not be locked out of it. */
function protectFile(file: string, owner: number | undefined): string {
  if (owner === undefined) return `Run: chmod 600 ${file}`;
  return `Run as root: chown ${owner} ${file} && chmod 600 ${file}`;
}

/** With a name for each well, or for all wells in the warehouse. */
function backfillCommand({ uwis, from, to }: Backfill): string {
  const wells = uwis === null ? '--from-warehouse' : uwis.map((uwi) => `--uwi ${shellWord(uwi)}`).join(' ');
  return `wellsync export daily-production ${wells} --from ${from} --to ${to}`;
}

const quarantineQuery = 'wellsync query "SELECT * FROM quarantine"';
const unknownQuery = 'wellsync query "SELECT * FROM unknown_target"';

/** Undefined for an action of another version. */
function sentenceOf(action: Action): string | undefined {
  const textOf = sentences[action.kind] as ((action: Action) => string) | undefined;
  return textOf?.(action);
}

/** The remedy of a fault, in one line; undefined if none is known. */
export function adviceOf(fault: {
  readonly hint?: string | undefined;
  readonly action?: Action | undefined;
}): string | undefined {
  const parts = [fault.hint, fault.action && sentenceOf(fault.action)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** A command for the next step, with its effect. */
export type NextStep = readonly [command: string, does: string];

const steps: Wording<NextAction, NextStep, [job: JobDescription]> = {
  backfill: (backfill) => [backfillCommand(backfill), 'reads the days that differ again, as a backfill'],
  'list-alerts': () => ['wellsync alerts list', 'lists what needs a person'],
  'retry-run': ({ runId }, { units: { one, many, isSingle } }) => [
    `wellsync runs retry ${runId}`,
    isSingle ? `goes on with the ${one} where it stopped` : `retries the ${many} that are not done`,
  ],
  'release-rows': ({ runId }, { units }) => [
    `wellsync runs release ${runId}`,
    `asks, then lets the held rows of these ${units.many} go`,
  ],
  'show-coverage': () => ['wellsync coverage', 'shows which days have a row, and which not'],
  'show-quarantine': () => showQuarantine,
  'show-unknown': () => [
    'wellsync coverage --unknown',
    'lists the wells whose daily production the service does not know',
  ],
  'show-unknown-definitions': () => [unknownQuery, 'lists what the service does not know'],
  'show-stale': () => ['wellsync coverage --stale', 'lists the wells without a new day for long'],
  'get-rejects': ({ runId }) => [
    `wellsync runs rejects ${runId} > rejects.csv`,
    `gives what was rejected, to correct and push with --corrects ${runId}`,
  ],
  'audit-run': ({ runId }) => [`wellsync audit deletions --run ${runId}`, 'lists every target'],
  'plan-cleanup': () => ['wellsync cleanup …', 'plans again what is not gone'],
};

export const showQuarantine: NextStep = [quarantineQuery, 'shows the records that broke the contract'];

/** The command for an action, below the report of a run of this job. */
export function nextStepOf(action: NextAction, job: JobDescription): NextStep {
  const textOf = steps[action.kind] as (action: NextAction, job: JobDescription) => NextStep;
  return textOf(action, job);
}

/** `issues` holds every fault found, for a UsageError. */
export interface FaultDocument {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** Text for the command line. */
    readonly hint: string | null;
    readonly action: Action | null;
    readonly issues: readonly string[];
  };
}

const bugHint = 'Run it again with WELLSYNC_DEBUG=1 to see where, and report that.';

/** Marks an unknown error as a fault of wellsync. */
export function faultDocument(error: unknown): FaultDocument {
  const fault = faultOf(error);
  const { code, message, action } = fault;
  const isKnown = error instanceof WellsyncError;
  return {
    error: {
      code,
      message: isKnown ? error.message : `this is a fault of wellsync itself: ${message}`,
      hint: isKnown ? (adviceOf(fault) ?? null) : bugHint,
      action: action ?? null,
      issues: error instanceof UsageError ? error.issues : [],
    },
  };
}

/** `width`: columns of the terminal, Infinity without one. */
export function faultText(error: unknown, width: number): string {
  const { message, hint, issues } = faultDocument(error).error;
  return [
    folded(`wellsync: ${message}`, width),
    ...issues.map((issue) => folded(`  - ${issue}`, width, '    ')),
    ...(hint === null ? [] : [foldedHint(hint, width)]),
  ].join('\n');
}

/** The stack with the stacks of its causes, on request. */
export function stackText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.stack ?? error.message;
  return error.cause === undefined ? own : `${own}\nCaused by: ${stackText(error.cause)}`;
}
