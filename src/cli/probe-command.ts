/** `wellsync probe`: finds out what the interface of the service does not show, and keeps it for the exports. */
import type { Command } from 'commander';
import { NotFoundError, PermanentError, UsageError } from '../core/errors.ts';
import type { ServiceProfile } from '../core/service-profile.ts';
import { keepProfile } from '../runs/profile-in-use.ts';
import type { ProductionDataService } from '../service/production-data-service.ts';
import { atService } from './at-service.ts';
import { actionOf, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { installationFor, type Installation } from './installation.ts';
import { profileDocument, profileText } from './profile-text.ts';
import { targetsFrom, uwiKind } from './target-input.ts';

interface ProbeOptions {
  readonly uwi?: string;
}

/** Wells without data tell nothing: so many are asked for before an operator is. */
const wellsTried = 10;

export function addProbeCommand(program: Command, shell: Shell): void {
  program
    .command('probe')
    .description('find how the service pages, limits, bounds and orders, and keep it for the exports')
    .option('--uwi <uwi>', 'a well with some months of data to ask for')
    .addHelpText('after', explanation)
    .action(actionOf(shell, probeService));
}

const explanation = `
Asks for one well's daily production, with at most 12 requests (retries apart),
and prints what it found with the evidence. Without --uwi, wells of the warehouse and then of the
configuration are tried until one has data. What was found is kept in the
warehouse, and exports go by it; without a profile the first export probes by
itself, and one that no longer fits is found anew.

Exit codes: 0 found; 1 no well has data, or the service refused; 2 no well is
known, or wrong use; 4 stopped by Ctrl-C; 5 could not reach Redis, the warehouse or the service.
${examples(['wellsync probe', 'wellsync probe --uwi "15/9-F-1 C" --json'])}`;

async function probeService(invocation: Invocation<ProbeOptions>): Promise<ExitCode> {
  const { output } = invocation;
  const config = configOf(invocation);
  const { timeZone } = config;
  await using installation = installationFor(config, output);
  const wells = await wellsToTry(invocation, installation);
  let requests = 0;
  const onAttempt = (): void => void (requests += 1);
  const profile = await atService(installation, output, async (parts, { signal }) => {
    const found = await probeByFirst(wells, (uwi) => parts.service.probe({ uwi, timeZone }, { onAttempt, signal }));
    await keepProfile(found, parts);
    return found;
  });
  if (output.json) await output.document(profileDocument(profile, requests));
  else await output.print(profileText(profile, requests));
  return exitCodes.done;
}

async function wellsToTry(
  { options: { uwi }, stdin }: Invocation<ProbeOptions>,
  { config, warehouse }: Installation,
): Promise<readonly string[]> {
  if (uwi !== undefined) {
    const named = { names: [uwi], file: undefined };
    return (await targetsFrom(uwiKind, named, named, stdin)).names;
  }
  const known = await warehouse.dailyProduction.uwis();
  const configured = { names: config.export.wells, file: config.export.wellsFile };
  const isConfigured = configured.names.length > 0 || configured.file !== undefined;
  const others = isConfigured
    ? await targetsFrom(uwiKind, { names: [], file: undefined }, configured, stdin)
    : undefined;
  const wells = [...new Set([...known.slice(0, wellsTried), ...(others?.names ?? [])])].slice(0, wellsTried);
  if (wells.length > 0) return wells;
  throw new UsageError('no well is known to probe the service by', {
    hint: 'Name one with some months of data: wellsync probe --uwi "15/9-F-1 C"',
  });
}

/** The profile by the first well that has data. Throws the error of the last well where none has. */
async function probeByFirst(
  wells: readonly string[],
  probe: (uwi: string) => ReturnType<ProductionDataService['probe']>,
): Promise<ServiceProfile> {
  let emptyHanded: unknown;
  for (const uwi of wells) {
    try {
      return await probe(uwi);
    } catch (error) {
      if (!hasNoData(error)) throw error;
      emptyHanded = error;
    }
  }
  if (wells.length < 2) throw emptyHanded;
  throw new PermanentError('no-data', `none of ${wells.length} wells has data to probe the service by`, {
    hint: 'Name one with some months of data by --uwi.',
    cause: emptyHanded,
  });
}

function hasNoData(error: unknown): boolean {
  return error instanceof NotFoundError || (error instanceof PermanentError && error.code === 'no-data');
}
