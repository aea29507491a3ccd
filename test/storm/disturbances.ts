/** What happens to an installation in a storm. Each resolves when it is over, and is an event for who judges. */
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { atNode } from '../support/redis-topologies.ts';
import type { SmallDisk } from '../support/small-disk.ts';
import type { StormEvent } from './evidence.ts';
import { type Installation, newToken } from './installation.ts';
import type { DisturbanceKind } from './plan.ts';
import type { Service } from './processes.ts';
import type { Servers } from './servers.ts';
import type { Random } from './service/random.ts';
import type { AlertWatch } from './watchers.ts';

export interface Disturbed {
  readonly installation: Installation;
  readonly servers: Servers;
  readonly alerts: AlertWatch;
  /** The workers and the server, as they are now. */
  services(): readonly Service[];
  /** Null where the machine gives none, or the warehouse is no file. */
  readonly disk: SmallDisk | null;
  note(event: StormEvent): void;
  /** Ends all services of the queue but one, which is stopped, and starts those of another queue; see storm.ts. */
  takeOver(random: Random): Promise<void>;
}

type Disturbance = (on: Disturbed, random: Random) => Promise<void>;

export function disturb(kind: DisturbanceKind, on: Disturbed, random: Random): Promise<void> {
  return disturbances[kind](on, random);
}

/** Notes what lasted from now until it is over. */
async function lasting(
  { note }: Disturbed,
  kind: string,
  at: string,
  detail: Readonly<Record<string, unknown>>,
  during: () => Promise<Readonly<Record<string, unknown>> | void>,
): Promise<void> {
  const atMs = Date.now();
  let found: Readonly<Record<string, unknown>> | void = undefined;
  try {
    found = await during();
  } finally {
    // What could not be ended as it should was begun all the same.
    note({ atMs, untilMs: Date.now(), kind, at, detail: { ...detail, ...found } });
  }
}

const disturbances: Readonly<Record<DisturbanceKind, Disturbance>> = {
  async kill({ services, note }, random) {
    const up = services().filter((service) => service.isUp);
    const isAll = random.chance(0.15);
    const which = random.pick(['program', 'inner', 'all', 'all'] as const);
    for (const service of isAll ? up : random.shuffled(up).slice(0, 1)) {
      const atMs = Date.now();
      if (service.kill(which)) note({ atMs, kind: 'kill', at: service.name, detail: { which, isAll } });
    }
  },

  async stop(on, random) {
    const [service] = random.shuffled(on.services().filter(({ isUp }) => isUp));
    if (service === undefined) return;
    const forMs = random.chance(0.2) ? random.integer(10_000, 40_000) : random.integer(500, 8_000);
    await lasting(on, 'stop', service.name, { forMs }, async () => {
      service.pause();
      await delay(forMs);
      service.goOn();
    });
  },

  async term({ services, note }, random) {
    const [service] = random.shuffled(services().filter(({ isUp }) => isUp));
    if (service?.terminate() === true) note({ atMs: Date.now(), kind: 'term', at: service.name });
  },

  async failpoint(on, random) {
    const { installation, note } = on;
    const { trap } = installation;
    // There is one trap, and what it catches is of whoever set it.
    if (existsSync(trap)) return;
    const armed = {
      step: random.pick(['^transaction', '^ledger', '^warehouse', '^queue', '^worker', '^service', '^files', '.']),
      when: random.pick(['before', 'after']),
      nth: random.integer(1, 12),
      what: random.chance(0.7) ? 'kill' : 'stop',
    };
    await writeFile(`${trap}.next`, JSON.stringify(armed));
    await rename(`${trap}.next`, trap);
    const endMs = Date.now() + 15_000;
    let sprung: Sprung | undefined;
    for (; Date.now() < endMs && sprung === undefined; await delay(100)) sprung = await sprungAt(trap);
    await rm(trap, { force: true });
    // Who fell into it in the last moment says so a moment later.
    if (sprung === undefined) await delay(500);
    sprung ??= await sprungAt(trap);
    if (sprung === undefined) return;
    if (sprung.what === 'stop') {
      await delay(random.integer(500, 12_000));
      goOn(sprung.pid);
    }
    const { atMs, step, pid } = sprung;
    note({ atMs, untilMs: Date.now(), kind: 'failpoint', at: step, detail: { ...armed, pid } });
  },

  async bytes(on, random) {
    const names = Object.keys(on.servers.proxies);
    const name = random.pick(names);
    const proxy = on.servers.proxies[name];
    if (proxy === undefined) return;
    const fault = random.pick(['cut', 'cut', 'black hole', 'delay', 'half open', 'drip', 'refuse'] as const);
    const forMs = fault === 'cut' ? 3_000 : random.integer(500, 7_000);
    const direction = random.pick(['up', 'down'] as const);
    const afterBytes = random.integer(0, 4_000);
    await lasting(on, `bytes-${fault.replace(' ', '-')}`, name, { direction, afterBytes, forMs }, async () => {
      const [cuts, seen] = [proxy.counts.cuts, proxy.messages + proxy.counts.connections];
      const release =
        fault === 'cut'
          ? proxy.cut({ direction, afterBytes, connections: random.integer(1, 3) })
          : fault === 'black hole'
            ? proxy.blackHole()
            : fault === 'delay'
              ? proxy.delay(random.integer(20, 400))
              : fault === 'half open'
                ? proxy.halfOpen({ direction, how: random.pick(['end', 'deaf'] as const) })
                : fault === 'drip'
                  ? proxy.drip({ forMs })
                  : await proxy.refuse();
      await delay(forMs);
      await release();
      // Who is refused is not seen here, and the end of a direction comes to idle connections as well.
      if (fault === 'refuse' || fault === 'half open') return;
      return { met: fault === 'cut' ? proxy.counts.cuts - cuts : proxy.messages + proxy.counts.connections - seen };
    });
  },

  async burst(on, random) {
    const [share, forMs] = [random.integer(10, 60) / 100, random.integer(2_000, 9_000)];
    await lasting(on, 'burst', 'service', { share }, async () => {
      on.servers.service.burst(share, Date.now() + forMs);
      await delay(forMs);
    });
  },

  async outage(on, random) {
    const forMs = random.integer(2_000, 10_000);
    await lasting(on, 'outage', 'service', { forMs }, async () => {
      await on.servers.service.outage(Date.now() + forMs);
      await delay(forMs);
    });
  },

  async token(on, random) {
    const atMs = Date.now();
    const token = on.servers.service.newToken();
    await delay(random.integer(0, 4_000));
    await newToken(on.installation, token);
    on.note({ atMs, untilMs: Date.now(), kind: 'token', at: 'service' });
  },

  async hold(on, random) {
    const seconds = random.integer(2, 12);
    on.servers.service.hold(seconds);
    on.note({ atMs: Date.now(), untilMs: Date.now() + seconds * 1_000, kind: 'hold', at: 'service' });
  },

  async redis(on, random) {
    const redis = on.servers.redis?.single;
    if (redis === undefined) return;
    const how = random.pick(['term', 'kill', 'hang', 'hang'] as const);
    const awayMs = random.integer(200, 8_000);
    await lasting(on, `redis-${how}`, 'redis', { awayMs }, async () => {
      if (how === 'hang') {
        redis.hang();
        await delay(awayMs);
        redis.goOn();
        return;
      }
      await (how === 'kill' ? redis.kill() : redis.stop());
      await delay(awayMs);
      await redis.restart();
      if (!random.chance(0.2)) return;
      const atMs = Date.now();
      await atNode(redis, (client) => client.flushall());
      on.note({ atMs, kind: 'redis-wipe', at: 'redis' });
    });
  },

  async failover(on, random) {
    const sentinel = on.servers.redis?.sentinel;
    if (sentinel === undefined) return;
    const isPlanned = random.chance(0.5);
    await lasting(on, isPlanned ? 'failover' : 'redis-hang', 'redis', {}, async () => {
      const before = await sentinel.primary();
      if (isPlanned) return sentinel.failOver();
      before.hang();
      await delay(random.integer(3_000, 12_000));
      before.goOn();
    });
  },

  async postgres(on, random) {
    const server = on.servers.postgres?.server;
    if (server === undefined) return;
    const how = random.pick(['fast', 'immediate'] as const);
    const awayMs = random.integer(100, 6_000);
    await lasting(on, `postgres-${how}`, 'postgres', { awayMs }, async () => {
      await (how === 'fast' ? server.stop() : server.kill());
      await delay(awayMs);
      await server.start();
    });
  },

  async disk(on, random) {
    const { disk } = on;
    if (disk === null) return;
    await lasting(on, 'disk-full', 'disk', {}, async () => {
      disk.fill();
      await delay(random.integer(1_000, 7_000));
      disk.empty();
    });
  },

  async receiver(on, random) {
    await lasting(on, 'alerts-refused', 'receiver', {}, async () => {
      on.alerts.refuses = true;
      await delay(random.integer(2_000, 10_000));
      on.alerts.refuses = false;
    });
  },

  takeover: (on, random) => on.takeOver(random),
};

interface Sprung {
  readonly pid: number;
  /** When it fell into the trap: it is seen some time later. */
  readonly atMs: number;
  readonly step: string;
  readonly what: 'kill' | 'stop';
}

/** Who fell into the trap; undefined while nobody has. Each is given once. */
async function sprungAt(trap: string): Promise<Sprung | undefined> {
  const text = await readFile(`${trap}.log`, 'utf8').catch(() => '');
  // It is written in one piece, but its file is there before.
  if (!text.endsWith('\n')) return undefined;
  await rm(`${trap}.log`);
  return JSON.parse(text) as Sprung;
}

/** Lets a process go on that fell into the trap after the last one was there to see it. */
export async function freeTrapped(trap: string): Promise<void> {
  const sprung = await sprungAt(trap);
  if (sprung?.what === 'stop') goOn(sprung.pid);
}

function goOn(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // It was killed meanwhile.
  }
}
