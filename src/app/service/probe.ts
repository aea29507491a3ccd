/** Requests that probe the service: the choice of wells, and the profile that is found and kept. */
import type { Readable } from 'node:stream';
import { keepProfile } from '../../../jobs/daily-production/profile.ts';
import { NotFoundError, PermanentError, UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import type { ServiceProfile } from '../../core/paging/service-profile.ts';
import type { JobContext } from '../../runs/job.ts';
import type { App } from '../app.ts';
import { type InputNames, namesFor, targetsFrom, uwiKind } from '../exports/target-input.ts';

/** Number of wells tried before the operator has to name one: a well without data reveals nothing about a service. */
const wellsTried = 10;

interface ProbeInput {
  readonly uwi?: string | undefined;
}

/**
 * The named well, or else wells of the warehouse and then of the configuration, at most ten. Throws UsageError if no
 * well is known.
 */
export async function wellsToProbe(
  { config, warehouse }: App,
  { uwi }: ProbeInput,
  context: { readonly stdin: Readable; readonly names?: InputNames<ProbeInput> },
): Promise<readonly string[]> {
  const { stdin } = context;
  const { uwi: called } = namesFor(['uwi'], context.names);
  const calledBy = { names: called, file: called, known: called };
  if (uwi !== undefined) {
    const named = { names: [uwi], file: undefined, calledBy };
    return (await targetsFrom(uwiKind, named, named, stdin)).names;
  }
  const known = await warehouse.dailyProduction.uwis();
  const configured = { names: config.export.wells, file: config.export.wellsFile };
  const isConfigured = configured.names.length > 0 || configured.file !== undefined;
  const others = isConfigured
    ? await targetsFrom(uwiKind, { names: undefined, file: undefined, calledBy }, configured, stdin)
    : undefined;
  const wells = [...new Set([...known.slice(0, wellsTried), ...(others?.names ?? [])])].slice(0, wellsTried);
  if (wells.length > 0) return wells;
  throw new UsageError('no well is known to probe the service by', {
    hint: `Name one with some months of data by ${called}.`,
  });
}

/**
 * Probes the service by the first of the wells that has data, and keeps the profile for the exports. `requests` counts
 * every attempt. Throws the error of the well if a single one has no data, PermanentError('no-data') if several have
 * none, and AbortedError when the signal aborts.
 */
export async function probeService(
  context: JobContext,
  wells: readonly string[],
  { timeZone, signal }: { readonly timeZone: string; readonly signal: AbortSignal },
): Promise<{ readonly profile: ServiceProfile; readonly requests: number }> {
  let requests = 0;
  const onAttempt = (): void => void (requests += 1);
  const profile = await profileOfFirst(wells, (uwi) => context.service.probe({ uwi, timeZone }, { onAttempt, signal }));
  await keepProfile(profile, context);
  return { profile, requests };
}

async function profileOfFirst(
  wells: readonly string[],
  probe: (uwi: string) => Promise<ServiceProfile>,
): Promise<ServiceProfile> {
  let lastFault: unknown;
  for (const uwi of wells) {
    try {
      return await probe(uwi);
    } catch (error) {
      if (!hasNoData(error)) throw error;
      lastFault = error;
    }
  }
  if (wells.length < 2) throw lastFault;
  throw new PermanentError('no-data', `none of ${counted(wells.length, 'well')} has data to probe the service by`, {
    action: { kind: 'probe-other-well' },
    cause: lastFault,
  });
}

function hasNoData(error: unknown): boolean {
  return error instanceof NotFoundError || (error instanceof PermanentError && error.code === 'no-data');
}

// JSON of a profile of the service.

export interface ProfileDocument extends Omit<ServiceProfile, 'probedAtMs'> {
  readonly probedAt: string;
  readonly requests?: number;
}

/** `requests`: their number while probing; left out for a profile that was probed before. */
export function profileDocument({ probedAtMs, ...profile }: ServiceProfile, requests?: number): ProfileDocument {
  return {
    ...profile,
    probedAt: new Date(probedAtMs).toISOString(),
    ...(requests === undefined ? {} : { requests }),
  };
}
