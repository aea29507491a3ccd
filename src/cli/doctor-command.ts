/** `wellsync doctor`: looks at every part of the installation, and says what to do. */
import type { Command } from 'commander';
import { UsageError } from '../core/errors.ts';
import type { Config } from '../../config/schema.ts';
import { actionOf, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { checksBeforeConfig, checksOfParts, failedFinding, type Finding } from './doctor-checks.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { tableText } from './table.ts';

export function addDoctorCommand(program: Command, shell: Shell): void {
  program
    .command('doctor')
    .description('check every part and say what to do')
    .addHelpText(
      'after',
      `\nExit code 0, or 5 when a part failed.\n${examples(['wellsync doctor', 'wellsync doctor --json'])}`,
    )
    .action(actionOf(shell, examine));
}

async function examine(invocation: Invocation<unknown>): Promise<ExitCode> {
  const { output } = invocation;
  const findings = await findingsOf(invocation);
  const exitCode = findings.some((finding) => finding.status === 'failed') ? exitCodes.unreachable : exitCodes.done;
  if (output.json) await output.document({ findings, exitCode });
  else await output.print(findingsText(findings));
  return exitCode;
}

async function findingsOf(invocation: Invocation<unknown>): Promise<readonly Finding[]> {
  const before = checksBeforeConfig(invocation.environment, invocation.options.config);
  const config = configOrFinding(invocation);
  return 'status' in config ? [...before, config] : [...before, ...(await checksOfParts(config))];
}

function configOrFinding(invocation: Invocation<unknown>): Config | Finding {
  try {
    return configOf(invocation);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return failedFinding('settings', error);
  }
}

function findingsText(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ status, part, message, hint }) => {
    const [first = '', ...more] = message.split('\n');
    const below = [...more.map((line) => `- ${line}`), ...(hint === null ? [] : [`→ ${hint}`])];
    return [[status, part, first], ...below.map((line) => ['', '', line])];
  });
  return tableText([{}, {}, {}], rows);
}
