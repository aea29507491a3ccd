/**
 * Bounds the connections that nobody has shown a token on. One that is silent, sits between two requests or sends by drops
 * costs a stranger nothing: where an address has too many, the oldest of them end, so that a new one, a probe say, always
 * finds room. Whoever is let in keeps its connection as long as its request takes.
 */
import type { Socket } from 'node:net';
import { after, type Timer } from '../timers/sleep.ts';
import type { ApiServer, ConsoleContext } from './context.ts';

/** Of an address: a browser keeps up to six, so that some twenty readers may sit behind one. A trusted proxy may have more. */
const mostIdleOfAddress = 128;

/** Of all addresses. */
const mostIdle = 512;

/** How long more of them may stay: a request that came with its connection is looked at first. */
const trimMs = 250;

/**
 * Connections beside the streams of events: those of requests under way, and what may come between two trims. A last
 * resort, where more is refused, whoever comes.
 */
const otherConnections = 3_000;

/** For a server whose callers are admitted by hooks that were added before. */
export function boundConnections(server: ApiServer, { app, access }: ConsoleContext): void {
  const idle = new IdleSockets();
  const requestsOf = new WeakMap<Socket, number>();
  let trimming: Timer | undefined;
  const trimSoon = (): void => {
    // Bytes that have arrived are read between a timer and an immediate, and whoever sent them is admitted or not.
    trimming ??= after(trimMs, () =>
      setImmediate(() => {
        trimming = undefined;
        for (const socket of idle.tooMany()) socket.destroy();
      }),
    );
  };
  const rest = (socket: Socket): void => {
    if (socket.destroyed) return;
    const { remoteAddress } = socket;
    idle.add(socket, access.isProxy(remoteAddress) ? undefined : networkOf(remoteAddress));
    if (idle.isCrowded(socket)) trimSoon();
  };
  server.server.maxConnections = app.config.http.maxStreams + otherConnections;
  server.server.on('connection', (socket) => {
    rest(socket);
    socket.once('close', () => idle.remove(socket));
  });
  server.addHook('onRequest', async ({ identity, raw: { socket } }, { raw: response }) => {
    if (identity === null) return;
    idle.remove(socket);
    requestsOf.set(socket, (requestsOf.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (requestsOf.get(socket) ?? 1) - 1;
      requestsOf.set(socket, left);
      if (left === 0) rest(socket);
    });
  });
  server.addHook('onClose', async () => trimming?.cancel());
}

/** Whoever has an address of IPv6 has its whole network of 64 bits. */
export function networkOf(address: string | undefined): string | undefined {
  if (address === undefined || !address.includes(':') || address.includes('.')) return address;
  const [head = [], tail = []] = address
    .replace(/%.*$/, '')
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}

/** Sockets without a request that was let in, those of an address by themselves; each list begins with the oldest. */
class IdleSockets {
  readonly #all = new Map<Socket, string | undefined>();
  readonly #ofAddress = new Map<string, Set<Socket>>();

  /** `address`: undefined for one that many clients share. */
  add(socket: Socket, address: string | undefined): void {
    this.#all.set(socket, address);
    if (address === undefined) return;
    const others = this.#ofAddress.get(address);
    if (others === undefined) this.#ofAddress.set(address, new Set([socket]));
    else others.add(socket);
  }

  remove(socket: Socket): void {
    const address = this.#all.get(socket);
    this.#all.delete(socket);
    if (address === undefined) return;
    const others = this.#ofAddress.get(address);
    others?.delete(socket);
    if (others?.size === 0) this.#ofAddress.delete(address);
  }

  /** Whether there are too many of its address, or in all. */
  isCrowded(socket: Socket): boolean {
    const others = this.#ofAddress.get(this.#all.get(socket) ?? '');
    return this.#all.size > mostIdle || (others?.size ?? 0) > mostIdleOfAddress;
  }

  /** Takes out, and returns, the oldest of each address that has too many, then the oldest of all. */
  tooMany(): readonly Socket[] {
    const ofAddresses = [...this.#ofAddress.values()].flatMap((sockets) =>
      [...sockets].slice(0, Math.max(0, sockets.size - mostIdleOfAddress)),
    );
    for (const socket of ofAddresses) this.remove(socket);
    const ofAll = [...this.#all.keys()].slice(0, Math.max(0, this.#all.size - mostIdle));
    for (const socket of ofAll) this.remove(socket);
    return [...ofAddresses, ...ofAll];
  }
}
