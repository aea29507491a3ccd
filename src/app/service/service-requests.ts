/**
 * Requests about the service of a warehouse: set it once, give it a new name, show what is known of it without asking it, and
 * probe it.
 */
import { keepProfile, keptProfile } from '../../../jobs/daily-production/profile.ts';
import { AbortedError, NotFoundError, PermanentError, UsageError } from '../../core/base/errors.ts';
import { serviceKeyOf } from '../../core/base/service-key.ts';
import { counted, isoInstant, roughDurationText } from '../../core/base/text.ts';
import type { ServiceHold, ServiceOutage } from '../../core/run/service-hold.ts';
import { shownBaseUrl } from '../../service/settings.ts';
import type { ServiceAlias, ServiceRecords } from '../../warehouse/port/warehouse.ts';
import type { App } from '../app.ts';
import type { LedgerReader } from '../warehouse/last-known.ts';
import type { Readable } from 'node:stream';
import type { ServiceProfile } from '../../core/paging/service-profile.ts';
import type { JobContext } from '../../runs/job.ts';
import { type InputNames, namesFor, targetsFrom, uwiKind } from '../exports/target-input.ts';

export interface ServiceStatus {
  /** Null until the first run. */
  readonly service: string | null;
  readonly warehouse: string;
  readonly warehouseId: string;
  readonly epoch: number;
  readonly names: readonly ServiceAlias[];
}

export async function serviceStatus({ ledger, warehouse }: App): Promise<ServiceStatus> {
  const { service, warehouseId, epoch } = await ledger.ownership.read();
  const aliases = await ledger.ownership.aliases();
  const names = aliases.filter(({ address }) => address !== service);
  return { service: service ?? null, warehouse: warehouse.location, warehouseId, epoch, names };
}

/** The confirmation of a change; `ask` is undefined without a terminal. */
export interface Confirmation {
  readonly by: string;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly ask: ((question: string) => Promise<string | undefined>) | undefined;
}

/** Returns the key that was adopted, or would be. Throws UsageError, and AbortedError if it was not confirmed. */
export async function adoptService(app: App, named: string | undefined, how: Confirmation): Promise<string> {
  const { ownership } = app.ledger;
  const service = named === undefined ? undefined : serviceKeyOf(named);
  const change = { by: how.by, atMs: Date.now() };
  const adopted = await ownership.adopt(service, { ...change, dryRun: true });
  if (how.dryRun) return adopted;
  await confirm(`${app.warehouse.location} belongs to ${adopted} from now on. Type yes to go on: `, how);
  return ownership.adopt(adopted, { ...change, dryRun: false });
}

/** Returns the number of records under the old name. Throws UsageError, and AbortedError if it was not confirmed. */
export async function moveService(
  app: App,
  [old, to]: readonly [string, string],
  how: Confirmation,
): Promise<ServiceRecords> {
  const { ownership } = app.ledger;
  const [from, target] = [serviceKeyOf(old), serviceKeyOf(to)];
  const change = { by: how.by, atMs: Date.now() };
  const records = await ownership.move(from, target, { ...change, dryRun: true });
  if (how.dryRun) return records;
  await confirm(`${from} is known as ${target} from now on. Type yes to go on: `, how);
  return ownership.move(from, target, { ...change, dryRun: false });
}

async function confirm(question: string, { yes, ask }: Confirmation): Promise<void> {
  if (yes) return;
  if (ask === undefined) {
    throw new UsageError('this changes the service of the warehouse, and nobody can be asked here', {
      action: { kind: 'confirm-unattended' },
    });
  }
  if ((await ask(question)) !== 'yes') throw new AbortedError('not confirmed: nothing was changed');
}

// What is known of the service without asking it: its profile, its limits, and what holds requests back.

export interface ServiceView extends HeldBack {
  /** Whether hold and outage are known: Redis answers. */
  readonly isLive: boolean;
  /** Null before the first probe. */
  readonly profile: ProfileDocument | null;
  /** Names and values, by the configuration. */
  readonly limits: ReadonlyArray<readonly [name: string, value: string]>;
}

/** Does without Redis. */
export async function serviceViewOf(app: App, reader: LedgerReader): Promise<ServiceView> {
  const { url, concurrency, requestsPerSecond } = app.config.service;
  const { value: profile } =
    url === undefined
      ? { value: undefined }
      : await reader.read(['profile'], () => keptProfile(shownBaseUrl(url), app));
  const limits = [
    ['Requests at one time', String(concurrency)],
    ['Requests a second', requestsPerSecond === undefined ? 'no limit' : String(requestsPerSecond)],
    ['Longest wait that it may ask for', roughDurationText(app.config.queue.maxHoldMs)],
  ] as const;
  return { ...(await heldBackOf(app)), profile: profile === undefined ? null : profileDocument(profile), limits };
}

async function heldBackOf(app: App): Promise<HeldBack & Pick<ServiceView, 'isLive'>> {
  try {
    return { ...(await readHeldBack(app)), isLive: true };
  } catch {
    // The checks of the page say that Redis does not answer.
    return { ...notHeldBack, isLive: false };
  }
}

// What holds back the requests of all workers to the service: a wait that it requested, and that it was down (G9).

/** Null for what does not; instants as ISO text. */
export interface HeldBack {
  readonly hold: { readonly until: string; readonly askedUntil: string; readonly isTooLong: boolean } | null;
  readonly outage: {
    readonly since: string;
    readonly fault: string;
    /** Its pause is over: the next request asks it, and it may be up. */
    readonly isDue: boolean;
  } | null;
}

export const notHeldBack: HeldBack = { hold: null, outage: null };

/** Throws UnreachableError('redis'). */
export async function readHeldBack(app: App): Promise<HeldBack> {
  const { serviceHold } = await app.queue('prompt');
  return { hold: holdDocument(await serviceHold.read()), outage: outageDocument(await serviceHold.readOutage()) };
}

function holdDocument(hold: ServiceHold | undefined): HeldBack['hold'] {
  if (hold === undefined) return null;
  const { untilMs, askedUntilMs, isTooLong } = hold;
  return { until: isoInstant(untilMs), askedUntil: isoInstant(askedUntilMs), isTooLong };
}

function outageDocument(outage: ServiceOutage | undefined): HeldBack['outage'] {
  if (outage === undefined) return null;
  return { since: isoInstant(outage.sinceMs), fault: outage.fault, isDue: outage.nextTryMs === 0 };
}

// The request to lift what holds back all requests to the service: a Retry-After, or that it was down.

/** Lets all workers send requests at once, unless `dryRun`. Returns what held them. Throws UnreachableError('redis'). */
export async function releaseService(app: App, { dryRun }: { readonly dryRun: boolean }): Promise<HeldBack> {
  const heldBack = await readHeldBack(app);
  if (!dryRun) await (await app.queue('prompt')).serviceHold.lift();
  return heldBack;
}

// Requests that probe the service: the choice of wells, and the profile that is found and kept.

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
