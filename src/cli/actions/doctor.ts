import type { Config } from '../../../config/schema.ts';
import { checksBeforeConfig } from '../../app/health/before-config.ts';
import { failedFinding, type Finding } from '../../app/health/finding.ts';
import { checkLive, checksOfParts } from '../../app/health/health.ts';
import { UsageError } from '../../core/base/errors.ts';
import { roughDurationText } from '../../core/base/text.ts';
import { exitCodes, type ExitCode } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import { adviceOf } from '../text/actions.ts';
import { tableText } from '../text/table.ts';
import { configOf } from './config.ts';

export interface DoctorOptions {
  readonly uwi?: string;
  readonly live?: true;
}

type Doctor = Invocation<DoctorOptions>;

export async function examine(invocation: Doctor): Promise<ExitCode> {
  if (invocation.options.live) return probeLife(invocation);
  const { output } = invocation;
  const findings = (await findingsOf(invocation)).map(worded);
  const exitCode = findings.some((finding) => finding.status === 'failed') ? exitCodes.unreachable : exitCodes.done;
  if (output.json) await output.document({ findings, exitCode });
  else if (output.quiet) await tellTroubles(findings, output);
  else await output.report(findingsText(findings, output.width));
  return exitCode;
}

/** What failed and what is warned of. A report would be held where no part failed, and its warnings with it. */
async function tellTroubles(findings: readonly Finding[], output: Doctor['output']): Promise<void> {
  // Without a worker everything is as it should be where crons work their runs inline.
  const isTold = ({ status, part }: Finding) => status === 'failed' || (status === 'warning' && part !== 'workers');
  const troubles = findings.filter(isTold);
  if (troubles.length > 0) await output.print(findingsText(troubles, output.width));
}

/** One line and exit code 0 or 1, for a probe of a container or of systemd. */
async function probeLife(invocation: Doctor): Promise<ExitCode> {
  const { output } = invocation;
  const { isLive, beatAgeMs, warehouse } = await checkLive(configOf(invocation));
  if (output.json) await output.document({ isLive, beatAgeMs: beatAgeMs ?? null, warehouse });
  else await output.report(lifeText(isLive, beatAgeMs, warehouse));
  return isLive ? exitCodes.done : exitCodes.failed;
}

function lifeText(isLive: boolean, beatAgeMs: number | undefined, warehouse: string): string {
  const beat = beatAgeMs === undefined ? 'there is no beat' : `the last beat is ${roughDurationText(beatAgeMs)} old`;
  if (isLive) return `A worker is at work on ${warehouse}: ${beat}.`;
  return `No worker is at work on ${warehouse}: ${beat}. Start one with: wellsync worker`;
}

async function findingsOf(invocation: Doctor): Promise<readonly Finding[]> {
  const before = checksBeforeConfig(invocation.environment, invocation.options.config);
  const config = configOrFinding(invocation);
  return 'status' in config
    ? [...before, config]
    : [...before, ...(await checksOfParts(config, invocation.options.uwi))];
}

function configOrFinding(invocation: Doctor): Config | Finding {
  try {
    return configOf(invocation);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return failedFinding('settings', error, { hint: 'config/wellsync.yaml shows every setting with its meaning.' });
  }
}

/** The finding with its hint in the command line's words. */
function worded(finding: Finding): Finding {
  const { hint, action } = finding;
  return { ...finding, hint: adviceOf({ hint: hint ?? undefined, action: action ?? undefined }) ?? null };
}

function findingsText(findings: readonly Finding[], width: number): string {
  const rows = findings.flatMap(({ status, part, message, hint }) => {
    const [first = '', ...more] = message.split('\n');
    const below = [...more.map((line) => `- ${line}`), ...(hint === null ? [] : [`→ ${hint}`])];
    return [[status, part, first], ...below.map((line) => ['', '', line])];
  });
  return tableText([{}, {}, {}], rows, '', width);
}
