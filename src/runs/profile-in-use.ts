/**
 * Owns which profile of the service the readings of a chunk go by: the one that is kept with the warehouse, and one that is
 * found anew where none is kept or the kept one no longer fits (DESIGN.md section 3).
 */
import { AbortedError, WellsyncError } from '../core/errors.ts';
import type { WindowReading } from '../core/reading.ts';
import { decodeProfile, encodeProfile, summaryOf, type ServiceProfile } from '../core/service-profile.ts';
import type { ProbeRequest } from '../service/production-data-service.ts';
import type { JobParts } from './job.ts';

type ProfileParts = Pick<JobParts, 'service' | 'warehouse'>;

/** A well with fewer rows tells too little of a service. */
const leastRowsToProbeBy = 5;

/** A reading with what it was read by. */
export interface ReadByProfile extends ProbeRequest {
  readonly reading: Pick<WindowReading, 'rows' | 'profileMisfit'>;
  readonly profile: ServiceProfile | undefined;
}

/** For one chunk: within it the service is probed once at most, so that a service that cannot be probed costs little. */
export class ProfileInUse {
  readonly #parts: ProfileParts;
  #profile: ServiceProfile | undefined;
  #isSought = false;

  private constructor(parts: ProfileParts, kept: ServiceProfile | undefined) {
    this.#parts = parts;
    this.#profile = kept;
  }

  static async load(parts: ProfileParts): Promise<ProfileInUse> {
    const kept = await parts.warehouse.profiles.read(parts.service.baseUrl);
    return new ProfileInUse(parts, kept === undefined ? undefined : decodeProfile(kept));
  }

  /** Undefined where none is known, or where the kept one does not fit: reading is right without one, only slower. */
  get profile(): ServiceProfile | undefined {
    return this.#profile;
  }

  /**
   * Learns from a reading: a profile that did not fit is no longer gone by, and where there is none the service is probed by
   * the reading's well, and the profile kept. Returns what the run's report should say of that. A probe that fails stops
   * no export; throws AbortedError, and what the warehouse says of its calls.
   */
  async learn({ reading, profile, uwi, timeZone }: ReadByProfile, signal: AbortSignal): Promise<readonly string[]> {
    // Readings that were begun by an older profile say nothing of a newer one.
    if (reading.profileMisfit && profile === this.#profile) this.#profile = undefined;
    if (this.#profile !== undefined || this.#isSought || reading.rows.length < leastRowsToProbeBy) return [];
    this.#isSought = true;
    const found = await this.#probe({ uwi, timeZone }, signal);
    if (found instanceof WellsyncError) {
      return [`the service could not be probed, and was read without a profile (${found.code}): try wellsync probe`];
    }
    await keepProfile(found, this.#parts);
    this.#profile = found;
    return [`the service was probed: ${summaryOf(found)}`];
  }

  async #probe(request: ProbeRequest, signal: AbortSignal): Promise<ServiceProfile | WellsyncError> {
    try {
      return await this.#parts.service.probe(request, { signal });
    } catch (error) {
      if (error instanceof AbortedError || !(error instanceof WellsyncError)) throw error;
      return error;
    }
  }
}

/** Exports of this service go by it from now on. */
export async function keepProfile(
  profile: ServiceProfile,
  { warehouse }: Pick<ProfileParts, 'warehouse'>,
): Promise<void> {
  await warehouse.profiles.save(profile.baseUrl, encodeProfile(profile), profile.probedAtMs);
}
