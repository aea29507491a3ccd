/** JSON of a profile of the service. */
import type { ServiceProfile } from '../../core/paging/service-profile.ts';

/** `requests`: their number while probing; left out for a profile that was probed before. */
export function profileDocument({ probedAtMs, ...profile }: ServiceProfile, requests?: number): object {
  return {
    ...profile,
    probedAt: new Date(probedAtMs).toISOString(),
    ...(requests === undefined ? {} : { requests }),
  };
}
