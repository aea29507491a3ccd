/** What holds all requests to a service back, for those who show it or lift it: a Retry-After, or that it is down. */
import type { ServiceHold } from '../../core/run/service-hold.ts';
import type { ServiceHoldStore } from '../port.ts';
import { limitsKey, type QueueAddress } from '../queue-names.ts';
import type { RedisHandle } from '../redis/options.ts';
import { liftHold, limiterKeys, outageOf, readCircuit, readHold } from './limiter-keys.ts';
import { type RedisScript, runScript } from '../redis/script.ts';

/** Fields of the hash, as Redis returns them. */
export type HoldFields = readonly (string | null)[];

/** `nowMs`: the time of Redis. Undefined if there is no hold. */
export function holdOf([until, asked, tooLong]: HoldFields, nowMs: number): ServiceHold | undefined {
  if (until === null || until === undefined) return undefined;
  const untilMs = Number(until);
  return {
    untilMs,
    leftMs: Math.max(0, untilMs - nowMs),
    askedUntilMs: Number(asked ?? until),
    isTooLong: tooLong === '1',
  };
}

/** For the service of the limiter with the same address. */
export function createServiceHoldStore(redis: RedisHandle, address: QueueAddress): ServiceHoldStore {
  const keys = limiterKeys(limitsKey(address));
  const run = async (script: RedisScript, used: readonly string[]): Promise<readonly [number, HoldFields]> =>
    (await runScript(redis, script, used, [])) as [number, HoldFields];
  return {
    read: async () => {
      const [nowMs, fields] = await run(readHold, [keys.hold]);
      return holdOf(fields, nowMs);
    },
    readOutage: async () => {
      const [nowMs, fields] = await run(readCircuit, [keys.circuit]);
      return outageOf(fields, nowMs);
    },
    lift: async () => {
      const [nowMs, fields] = await run(liftHold, [keys.hold, keys.series, keys.circuit, keys.failing]);
      return holdOf(fields, nowMs);
    },
  };
}
