/** `wellsync doctor`: checks every part by using it, and names remedies. */
import type { Config } from '../../../config/schema.ts';
import type { Finding } from '../../app/health/finding.ts';
import { UsageError } from '../../core/base/errors.ts';
import { roughDurationText } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Call, Flags, ProgramCommand, Texts } from '../command.ts';

export function addDoctorCommand(program: ProgramCommand): void {
  program
    .command('doctor')
    .description('check every part by using it, and say what to do')
    .option('--uwi <uwi>', 'a well of the service to ask for; else one that is known')
    .option('--live', 'only whether a worker is at work, by its last beat: for a probe')
    .explained(explanation, ['wellsync doctor', 'wellsync doctor --json', 'wellsync doctor --live'])
    .runs(examine);
}

const explanation = `
One request with the token goes to the service, a commit that is rolled back to
the warehouse, a file to each folder, and a key to Redis where one is set. A
warehouse that a worker of this installation holds is well.

--live sends no request and opens no warehouse. --quiet prints only what failed or
what is warned of, except that no worker is running.

Exit codes: 0, or 5 when a part failed; with --live 0, or 1 where no worker beats
`;

type DoctorOptions = Flags<'live'> & Texts<'uwi'>;

type Doctor = Call<DoctorOptions>;

export async function examine(call: Doctor): Promise<ExitCode> {
  if (call.options.live) return probeLife(call);
  const { adviceOf } = await import('../text/actions.ts');
  const { output } = call;
  // With the hint in the command line's words.
  const findings = (await findingsOf(call)).map((finding) => {
    const { hint, action } = finding;
    return { ...finding, hint: adviceOf({ hint: hint ?? undefined, action: action ?? undefined }) ?? null };
  });
  const exitCode = findings.some((finding) => finding.status === 'failed') ? exitCodes.unreachable : exitCodes.done;
  if (output.json) await output.document({ findings, exitCode });
  else if (output.quiet) await reportTroubles(findings, call);
  else await output.report(findingsText(findings, call));
  return exitCode;
}

/** What failed and what is warned of. A report would be held where no part failed, and its warnings with it. */
async function reportTroubles(findings: readonly Finding[], call: Doctor): Promise<void> {
  // Without a worker everything is as it should be where crons work their runs inline.
  const isReported = ({ status, part }: Finding) => status === 'failed' || (status === 'warning' && part !== 'workers');
  const troubles = findings.filter(isReported);
  if (troubles.length > 0) await call.output.print(findingsText(troubles, call));
}

/** One line and exit code 0 or 1, for a probe of a container or of systemd. */
async function probeLife(call: Doctor): Promise<ExitCode> {
  const { checkLive } = await import('../../app/health/health.ts');
  const { output } = call;
  const { isLive, beatAgeMs, warehouse } = await checkLive(await call.config());
  await output.report(lifeText(isLive, beatAgeMs, warehouse), { isLive, beatAgeMs: beatAgeMs ?? null, warehouse });
  return isLive ? exitCodes.done : exitCodes.failed;
}

function lifeText(isLive: boolean, beatAgeMs: number | undefined, warehouse: string): string {
  const beat = beatAgeMs === undefined ? 'there is no beat' : `the last beat is ${roughDurationText(beatAgeMs)} old`;
  if (isLive) return `A worker is at work on ${warehouse}: ${beat}.`;
  return `No worker is at work on ${warehouse}: ${beat}. Start one with: wellsync worker`;
}

async function findingsOf(call: Doctor): Promise<readonly Finding[]> {
  const { checksBeforeConfig } = await import('../../app/health/before-config.ts');
  const { checksOfParts } = await import('../../app/health/health.ts');
  const before = checksBeforeConfig(call.environment, call.options.config);
  const config = await configOrFinding(call);
  return 'status' in config
    ? [...before, config]
    : [...before, ...(await checksOfParts(config, call.options.uwi, (message) => call.output.say(message)))];
}

async function configOrFinding(call: Doctor): Promise<Config | Finding> {
  try {
    return await call.config();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { failedFinding } = await import('../../app/health/finding.ts');
    return failedFinding('settings', error, { hint: 'config/wellsync.yaml shows every setting with its meaning.' });
  }
}

function findingsText(findings: readonly Finding[], { output, layout }: Doctor): string {
  const rows = findings.flatMap(({ status, part, message, hint }) => {
    const [first = '', ...more] = message.split('\n');
    const below = [...more.map((line) => `- ${line}`), ...(hint === null ? [] : [`→ ${hint}`])];
    return [[status, part, first], ...below.map((line) => ['', '', line])];
  });
  return layout.tableText([{}, {}, {}], rows, '', output.width);
}
