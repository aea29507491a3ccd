/**
 * The service profile for the readings of a chunk: the stored one, or a new one if none is stored or the stored one no
 * longer fits (docs/design.md section 3).
 */
import { z } from 'zod';
import { parsedJson } from '../../src/core/base/text.ts';
import { AbortedError, WellsyncError } from '../../src/core/base/errors.ts';
import type { WindowReading } from '../../src/core/daily/reading.ts';
import {
  limitFor,
  type ReadFindings,
  type ServiceProfile,
  summaryOf,
  withLargerPage,
  withoutContradictions,
} from '../../src/core/paging/service-profile.ts';
import type { JobContext } from '../../src/runs/job.ts';
import type { ProbeRequest } from '../../src/service/production-data-service.ts';

type ProfileContext = Pick<JobContext, 'service' | 'ledger' | 'now'>;

/** A well with fewer rows reveals too little about a service. */
const leastRowsToProbeBy = 5;

/** A reading, with the profile that it used. */
interface ReadByProfile extends ProbeRequest {
  readonly reading: Pick<WindowReading, 'rows' | 'profileMisfit' | 'paging'>;
  readonly profile: ServiceProfile | undefined;
}

/** For the run's report. */
interface Learnt {
  readonly notices: readonly string[];
  /** Requests of a probe. */
  readonly requests: number;
}

/** The profiles in use by runs: the chunks of a run that this process works at a time share one. */
export class ProfilesInUse {
  readonly #byRun = new Map<string, { readonly loaded: Promise<ProfileInUse>; chunks: number }>();

  /** Works a chunk of the run with its profile. */
  async during<Result>(
    runId: string,
    context: ProfileContext,
    work: (profile: ProfileInUse) => Promise<Result>,
  ): Promise<Result> {
    const shared = this.#byRun.get(runId) ?? { loaded: ProfileInUse.load(context, runId), chunks: 0 };
    this.#byRun.set(runId, shared);
    shared.chunks += 1;
    try {
      return await work(await shared.loaded);
    } finally {
      shared.chunks -= 1;
      if (shared.chunks === 0) this.#byRun.delete(runId);
    }
  }
}

/** Of all processes that work a run one probes the service, and once, so that a probe that fails costs little. */
export class ProfileInUse {
  readonly #context: ProfileContext;
  readonly #runId: string;
  #profile: ServiceProfile | undefined;
  /** A stored profile that did not fit. */
  #outdated: ServiceProfile | undefined;
  #probe: 'open' | 'done' | 'elsewhere' = 'open';
  #isSought = false;
  /** Requests of a probe that no reading has reported. */
  #requests = 0;

  private constructor(context: ProfileContext, runId: string, kept: ServiceProfile | undefined) {
    this.#context = context;
    this.#runId = runId;
    this.#profile = kept;
  }

  static async load(context: ProfileContext, runId: string): Promise<ProfileInUse> {
    return new ProfileInUse(context, runId, await keptProfile(context.service.baseUrl, context));
  }

  /** Undefined if none is known, or if the stored one does not fit: reading is correct without one, only slower. */
  get profile(): ServiceProfile | undefined {
    return this.#profile;
  }

  /**
   * Learns from a reading: drops a profile that did not fit. Without a profile it takes the one that another process has
   * found for the run, or probes the service by the well of the reading, and stores the result; meanwhile other readings
   * go on without one. A failed probe stops no export. Throws AbortedError, and errors of the warehouse.
   */
  async update({ reading, profile, uwi, timeZone }: ReadByProfile, signal: AbortSignal): Promise<Learnt> {
    // A reading that began with an older profile says nothing about a newer one.
    if (reading.profileMisfit && profile === this.#profile) this.#drop();
    await this.#growBy(reading.paging);
    const isUseful = this.#profile === undefined && reading.rows.length >= leastRowsToProbeBy;
    const notices = isUseful ? await this.#probeAgain({ uwi, timeZone }, reading.paging, signal) : [];
    const requests = this.#requests;
    this.#requests = 0;
    return { notices, requests };
  }

  /** Called after a read that failed because the profile contradicts the service: probes it for the next attempt. */
  async invalidate(request: ProbeRequest, profile: ServiceProfile | undefined, signal: AbortSignal): Promise<void> {
    if (profile === undefined || profile !== this.#profile) return;
    this.#drop();
    await this.#probeAgain(request, { limitRefused: false }, signal);
  }

  /** Keeps a larger page than the probe's well could show: by its size the profile ends a read. */
  async #growBy(found: ReadFindings): Promise<void> {
    const grown = this.#profile === undefined ? undefined : withLargerPage(this.#profile, found);
    if (grown === undefined) return;
    this.#profile = grown;
    await keepProfile(grown, this.#context);
  }

  #drop(): void {
    this.#outdated = this.#profile;
    this.#profile = undefined;
  }

  async #probeAgain(request: ProbeRequest, found: ReadFindings, signal: AbortSignal): Promise<readonly string[]> {
    if (this.#isSought) return [];
    this.#isSought = true;
    try {
      return await this.#find(request, found, signal);
    } finally {
      this.#isSought = false;
    }
  }

  async #find(request: ProbeRequest, found: ReadFindings, signal: AbortSignal): Promise<readonly string[]> {
    if (this.#probe === 'open') {
      const isOurs = await this.#context.ledger.profiles.claimProbe(this.#runId, this.#context.now());
      this.#probe = isOurs ? 'done' : 'elsewhere';
      if (isOurs) return this.#probeBy(request, found, signal);
    }
    if (this.#probe === 'elsewhere') {
      const { service } = this.#context;
      const kept = await keptProfile(service.baseUrl, this.#context);
      if (kept?.probedAtMs !== this.#outdated?.probedAtMs) this.#profile = kept;
    }
    return [];
  }

  async #probeBy(request: ProbeRequest, found: ReadFindings, signal: AbortSignal): Promise<readonly string[]> {
    const probed = await this.#ask(request, signal);
    if (probed instanceof WellsyncError) {
      return [`the service could not be probed, and was read without a profile (${probed.code}): probe it by hand`];
    }
    const profile = withoutContradictions(probed, found);
    await keepProfile(profile, this.#context);
    this.#profile = profile;
    return [`the service was probed: ${summaryOf(profile)}`];
  }

  async #ask(request: ProbeRequest, signal: AbortSignal): Promise<ServiceProfile | WellsyncError> {
    try {
      return await this.#context.service.probe(request, { signal, onAttempt: () => (this.#requests += 1) });
    } catch (error) {
      if (error instanceof AbortedError || !(error instanceof WellsyncError)) throw error;
      return error;
    }
  }
}

/** The profile of a service that was probed; undefined before. */
export async function keptProfile(
  baseUrl: string,
  { ledger }: Pick<ProfileContext, 'ledger'>,
): Promise<ServiceProfile | undefined> {
  const kept = await ledger.profiles.read(baseUrl);
  return kept === undefined ? undefined : decodeProfile(kept);
}

/** Rows that one page of the service holds, as far as that is known. */
export async function pageRowsOf(
  baseUrl: string,
  pageLimit: number,
  context: Pick<ProfileContext, 'ledger'>,
): Promise<number> {
  const profile = await keptProfile(baseUrl, context);
  const { limitHonoured, defaultLimit } = profile ?? {};
  return limitHonoured === false && typeof defaultLimit === 'number' ? defaultLimit : limitFor(profile, pageLimit);
}

/** Exports of this service use it from now on. */
export async function keepProfile(profile: ServiceProfile, { ledger }: Pick<ProfileContext, 'ledger'>): Promise<void> {
  await ledger.profiles.save(profile.baseUrl, encodeProfile(profile), profile.probedAtMs);
}

// The stored form of a service profile in the warehouse (docs/design.md section 3): JSON with its version first.

/** Raised whenever the stored form changes; the service is probed again for a profile of another version. */
const version = 2;

const isHonoured = z.union([z.boolean(), z.literal('unknown')]);
const rowCount = z.union([z.int().positive(), z.literal('unknown')]);
const bound = z.enum(['inclusive', 'exclusive', 'ignored', 'unknown']);

/** Members in the order of the stored form. */
const keptSchema = z.object({
  version: z.literal(version),
  baseUrl: z.string(),
  probedAtMs: z.number(),
  uwi: z.string(),
  pageBase: z.literal([0, 1, 'unknown']),
  belowFirst: z.enum(['empty', 'not-found', 'refused', 'first-page', 'unknown']),
  pastLast: z.enum(['empty', 'not-found', 'refused', 'last-page', 'unknown']),
  pagingHonoured: isHonoured,
  limitHonoured: isHonoured,
  defaultLimit: rowCount,
  maxLimit: rowCount,
  largestPage: rowCount,
  overMaxLimit: z.enum(['clamped', 'refused', 'unknown']),
  startBound: bound,
  endBound: bound,
  order: z.enum(['ascending', 'descending', 'none', 'unknown']),
  orderStable: isHonoured,
  evidence: z.array(z.object({ finding: z.string(), value: z.string(), evidence: z.string() })),
});

/** The stored form: the same bytes for the same profile. */
export function encodeProfile(profile: ServiceProfile): string {
  return JSON.stringify(keptSchema.parse({ version, ...profile }));
}

/**
 * Undefined for a profile of another version, and for a text that is not a profile: the service is probed again then.
 */
export function decodeProfile(text: string): ServiceProfile | undefined {
  const { data } = keptSchema.safeParse(parsedJson(text));
  if (data === undefined) return undefined;
  const { version: _version, ...profile } = data;
  return profile;
}
