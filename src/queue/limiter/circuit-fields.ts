/** What Redis holds of the circuit of a service. */
import type { ServiceOutage } from '../../core/run/service-outage.ts';

/** Fields of the hash, as Redis returns them: since, tryAt, fault. */
export type CircuitFields = readonly (string | null)[];

/** `nowMs`: the time of Redis. Undefined while the circuit is closed. */
export function outageOf([since, tryAt, fault]: CircuitFields, nowMs: number): ServiceOutage | undefined {
  if (since === null || since === undefined) return undefined;
  return {
    sinceMs: Number(since),
    forMs: Math.max(0, nowMs - Number(since)),
    nextTryMs: Math.max(0, Number(tryAt ?? nowMs) - nowMs),
    fault: fault ?? '',
  };
}
