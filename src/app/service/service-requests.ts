/**
 * Requests about the service of a warehouse: set it once, give it a new name, and show what is known of it without
 * asking it.
 */
import { keptProfile } from '../../../jobs/daily-production/profile.ts';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { serviceKeyOf } from '../../core/base/service-key.ts';
import { isoInstant, roughDurationText } from '../../core/base/text.ts';
import type { ServiceHold, ServiceOutage } from '../../core/run/service-hold.ts';
import { shownBaseUrl } from '../../service/settings.ts';
import type { ServiceAlias, ServiceRecords } from '../../warehouse/port/ownership.ts';
import type { App } from '../app.ts';
import type { LedgerReader } from '../warehouse/ledger-reader.ts';
import { type ProfileDocument, profileDocument } from './probe.ts';

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
