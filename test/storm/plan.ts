/**
 * What a storm does and when, drawn by its seed alone: the same seed, length and combination give the same plan. What an
 * act does in detail is drawn from a stream of its own, by its number, so that it does not hang on what ran before it.
 */
import { createRandom, type Random } from './service/random.ts';

export interface Combination {
  readonly warehouse: 'duckdb' | 'postgres';
  readonly queue: 'embedded' | 'redis';
}

/** What the users of an installation do. */
export const acts = [
  'export',
  'definitions',
  'push',
  'inbox',
  'cleanup',
  'verify',
  'cancel',
  'retry',
  'release',
  'acknowledge',
  'schedule',
  'publish',
  'prune',
] as const;

/** What happens to an installation. */
export const disturbances = [
  'kill',
  'stop',
  'term',
  'failpoint',
  'bytes',
  'burst',
  'outage',
  'token',
  'hold',
  'redis',
  'failover',
  'postgres',
  'disk',
  'receiver',
  'takeover',
] as const;

export type ActKind = (typeof acts)[number];
export type DisturbanceKind = (typeof disturbances)[number];

export interface Planned {
  readonly no: number;
  readonly atMs: number;
  readonly kind: ActKind | DisturbanceKind;
}

export interface Plan extends Combination {
  readonly seed: number;
  readonly lengthMs: number;
  /** How long nothing is disturbed after it, and work goes on. */
  readonly quietMs: number;
  /** The longest time that the service lets a request wait. */
  readonly latencyMs: number;
  /** A Redis alone, or a primary with a replica that Sentinel watches; null with an embedded queue. */
  readonly topology: 'single' | 'sentinel' | null;
  /** By how much the clock of the second worker is off; 0 with one worker. */
  readonly clockOffsetMs: number;
  /** In the order of their times, which count from the begin of the storm. */
  readonly events: readonly Planned[];
}

/** Seconds between two of a kind, on average. */
const everySeconds: Readonly<Record<ActKind | DisturbanceKind, number>> = {
  export: 4,
  definitions: 25,
  push: 5,
  inbox: 16,
  cleanup: 12,
  verify: 45,
  cancel: 14,
  retry: 12,
  release: 10,
  acknowledge: 14,
  schedule: 28,
  publish: 40,
  prune: 70,
  kill: 28,
  stop: 32,
  term: 45,
  failpoint: 24,
  bytes: 14,
  burst: 13,
  outage: 50,
  token: 60,
  hold: 90,
  redis: 50,
  failover: 50,
  postgres: 80,
  disk: 80,
  receiver: 45,
  takeover: Number.POSITIVE_INFINITY,
};

/** What a combination does not have. */
function lacks({ warehouse, queue }: Combination, topology: Plan['topology']): ReadonlySet<ActKind | DisturbanceKind> {
  return new Set<ActKind | DisturbanceKind>([
    ...(queue === 'embedded' ? (['redis', 'failover'] as const) : []),
    ...(topology === 'sentinel' ? (['redis'] as const) : (['failover'] as const)),
    ...(warehouse === 'duckdb' ? (['postgres'] as const) : (['disk'] as const)),
  ]);
}

/** Longer than the minute within which work goes on by itself (G7). */
const usualQuietMs = 75_000;

/** So that requests meet each other at the limits (G9). */
const usualLatencyMs = 250;

/** `minutes` is the length of the storm alone, without the quiet time after it. */
export function planOf(seed: number, minutes: number, combination: Combination, quietMs = usualQuietMs): Plan {
  const random = createRandom(seed).fork('plan');
  const lengthMs = minutes * 60_000;
  const topology = combination.queue === 'embedded' ? null : random.chance(0.3) ? 'sentinel' : 'single';
  const lacking = lacks(combination, topology);
  const events = [...acts, ...disturbances]
    .filter((kind) => !lacking.has(kind))
    .flatMap((kind) =>
      timesOf(random.fork(kind), everySeconds[kind] * 1_000, lengthMs).map((atMs) => ({ atMs, kind })),
    );
  // One queue takes the warehouse of another, once: workers of several hosts have a warehouse on PostgreSQL alone.
  const canBeTaken = combination.warehouse === 'postgres' && combination.queue === 'redis';
  if (canBeTaken && random.chance(0.4)) {
    events.push({ atMs: random.integer(lengthMs * 0.4, lengthMs * 0.7), kind: 'takeover' });
  }
  return {
    ...combination,
    seed,
    lengthMs,
    quietMs,
    latencyMs: usualLatencyMs,
    topology,
    clockOffsetMs: combination.queue === 'redis' ? random.integer(-1_500, 1_500) : 0,
    events: events.toSorted((a, b) => a.atMs - b.atMs).map((event, no) => ({ ...event, no })),
  };
}

/** From half of `everyMs` on, at gaps of half to three halves of it. */
function timesOf(random: Random, everyMs: number, lengthMs: number): readonly number[] {
  const times: number[] = [];
  if (!Number.isFinite(everyMs)) return times;
  const gap = (): number => random.integer(everyMs * 0.5, everyMs * 1.5);
  for (let atMs = Math.round(gap() * 0.5); atMs < lengthMs; atMs += gap()) times.push(atMs);
  return times;
}

/** The stream of what one event does in detail. */
export function detailOf(plan: Plan, { no, kind }: Planned): Random {
  return createRandom(plan.seed).fork(`${kind} ${no}`);
}
