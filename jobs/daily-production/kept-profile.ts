/** The stored form of a service profile in the warehouse (docs/design.md section 3): JSON with its version first. */
import { z } from 'zod';
import type { ServiceProfile } from '../../src/core/paging/service-profile.ts';

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
  const { data } = keptSchema.safeParse(parsed(text));
  if (data === undefined) return undefined;
  const { version: _version, ...profile } = data;
  return profile;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
