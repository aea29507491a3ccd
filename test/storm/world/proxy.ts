/**
 * A byte proxy before one server, with faults. `up` is the direction from clients to the server, `down` the one back.
 * Faults add up; each lasts until it is released, until `calm`, or until its own bound. A connection that lost bytes to a
 * fault is reset when the fault ends, since its stream has a gap.
 */
import { ProxiedConnection, type ProxyCounts } from './proxied-connection.ts';
import { type Direction, Faults, type Release, type Scope } from './proxy-faults.ts';
import { host, ProxyPort } from './proxy-port.ts';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** What a proxy did, for the log of a storm. */
export interface ProxyEvent {
  readonly name: string;
  readonly kind: 'cut' | 'reset' | 'refusing' | 'listening' | 'target-away';
  readonly detail?: string;
}

export interface ByteProxyOptions {
  readonly target: Target;
  readonly name: string;
  readonly onEvent?: (event: ProxyEvent) => void;
}

export interface CutOptions {
  readonly direction: Direction;
  /** Bytes of that direction that each connection still passes on, counted from now on or from its beginning. */
  readonly afterBytes: number;
  /** How many connections are cut before the fault ends; all by default. */
  readonly connections?: number;
  readonly of?: Scope;
}

export interface HalfOpenOptions {
  /** The direction that stops; the other one goes on. */
  readonly direction: Direction;
  /** `end`: its receiver gets a FIN; `deaf`: its receiver gets nothing. Its bytes are lost either way. */
  readonly how: 'end' | 'deaf';
  readonly of?: Scope;
}

export interface ByteProxy extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly counts: ProxyCounts;
  /** Chunks of both directions since the last {@link ByteProxy.arm}. */
  readonly messages: number;
  /** Connects what comes from now on to another port of the target's host; open connections stay where they are. */
  retarget(port: number): void;
  /** Resets connections after a number of bytes. */
  cut(options: CutOptions): Release;
  /** Takes bytes and connections, and passes none on; until released, or for `forMs`. */
  blackHole(options?: { readonly forMs?: number; readonly of?: Scope }): Release;
  /** Waits before each chunk. */
  delay(delayMs: number, of?: Scope): Release;
  /** Passes bytes on one at a time, `everyMs` apart (1 by default), for at most `forMs`. */
  drip(options: { readonly forMs: number; readonly everyMs?: number; readonly of?: Scope }): Release;
  /** Lets one direction stop while the other one goes on. */
  halfOpen(options: HalfOpenOptions): Release;
  /** Closes the port: a connection is refused. Open ones go on. */
  refuse(): Promise<Release>;
  /** Counts messages from 1 on, and forgets a planned {@link ByteProxy.cutBehindMessage}. */
  arm(): void;
  /** Passes on the n-th chunk since {@link ByteProxy.arm}, whatever its direction, and resets its connection right behind it. */
  cutBehindMessage(message: number): void;
  /** Ends all faults, and resets the connections that lost bytes. Resolves when it listens. */
  calm(): Promise<void>;
  /** Resets all connections of now. */
  resetAll(): void;
}

/** Resolves when the proxy listens on a free port of 127.0.0.1. The target need not be there yet. */
export async function startByteProxy({ target: first, name, onEvent }: ByteProxyOptions): Promise<ByteProxy> {
  let target = first;
  const counts: ProxyCounts = { connections: 0, open: 0, up: 0, down: 0, cuts: 0 };
  const trigger = { messages: 0, cutBehind: Infinity };
  const connections = new Set<ProxiedConnection>();
  const refusals = new Set<Release>();
  const faults = new Faults(connections);
  const event = (kind: ProxyEvent['kind'], detail?: string): void =>
    onEvent?.({ name, kind, ...(detail === undefined ? {} : { detail }) });
  const around = {
    counts,
    event,
    target: () => target,
    seen: () => ++trigger.messages === trigger.cutBehind,
    hasCut: faults.counted,
  };
  const port = await ProxyPort.open((client) => {
    const connection = new ProxiedConnection(client, around);
    connections.add(connection);
    counts.connections += 1;
    counts.open += 1;
    void connection.ended.then(() => {
      connections.delete(connection);
      counts.open -= 1;
    });
    faults.apply(connection);
    connection.start();
  });

  async function setRefusing(): Promise<void> {
    await port.set(refusals.size === 0);
    event(refusals.size === 0 ? 'listening' : 'refusing');
  }

  function resetAll(): void {
    for (const connection of connections) connection.reset();
  }

  return {
    host,
    port: port.port,
    counts,
    resetAll,
    get messages() {
      return trigger.messages;
    },
    retarget(next) {
      target = { ...target, port: next };
    },
    cut: ({ direction, afterBytes, connections: most = Infinity, of }) =>
      faults.add({ kind: 'cut', direction, afterBytes, most }, of),
    blackHole: ({ forMs, of } = {}) => faults.add({ kind: 'hole', directions: ['up', 'down'] }, of, forMs),
    delay: (delayMs, of) => faults.add({ kind: 'delay', delayMs }, of),
    drip: ({ forMs, everyMs = 1, of }) => faults.add({ kind: 'drip', everyMs }, of, forMs),
    halfOpen: ({ direction, how, of }) =>
      faults.add({ kind: how === 'end' ? 'end' : 'hole', directions: [direction] }, of),
    async refuse() {
      const release = async (): Promise<void> => {
        if (refusals.delete(release) && refusals.size === 0) await setRefusing();
      };
      refusals.add(release);
      if (refusals.size === 1) await setRefusing();
      return release;
    },
    arm() {
      trigger.messages = 0;
      trigger.cutBehind = Infinity;
    },
    cutBehindMessage(message) {
      trigger.cutBehind = message;
    },
    async calm() {
      trigger.cutBehind = Infinity;
      await faults.calm();
      await Promise.all([...refusals].map((release) => release()));
    },
    async [Symbol.asyncDispose]() {
      await port.set(false);
      const ended = [...connections].map((connection) => connection.ended);
      resetAll();
      await Promise.all(ended);
      await faults.calm();
    },
  };
}
