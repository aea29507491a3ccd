/** The circuit of a service, for those who show it or close it. */
import type { RedisHandle } from '../redis/connection.ts';
import type { ServiceOutage } from '../../core/run/service-outage.ts';
import { limitsKey, type QueueAddress } from '../queue-names.ts';
import { readCircuit } from './circuit-scripts.ts';
import { limiterKeys } from './limiter-keys.ts';
import { runScript } from './redis-script.ts';

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

/** Of the service of the limiter with the same address. Undefined while the service is answering. */
export async function readServiceOutage(
  redis: RedisHandle,
  address: QueueAddress,
): Promise<ServiceOutage | undefined> {
  const { circuit } = limiterKeys(limitsKey(address));
  const [nowMs, fields] = (await runScript(redis, readCircuit, [circuit], [])) as [number, CircuitFields];
  return outageOf(fields, nowMs);
}
