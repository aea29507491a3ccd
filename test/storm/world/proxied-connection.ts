/**
 * A connection through a byte proxy: two pumps, one a direction, that read a chunk, meet the faults, and write before they
 * read the next one. So a receiver that does not read holds its sender.
 */
import { connect, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault, Direction, Fault } from './proxy-faults.ts';

export interface ProxyCounts {
  /** All connections that were accepted, and those that are open. */
  connections: number;
  open: number;
  /** Bytes that were passed on, by direction. */
  up: number;
  down: number;
  /** Connections that were cut: by a cut, or behind a message. */
  cuts: number;
}

interface Surroundings {
  readonly counts: ProxyCounts;
  /** Where its bytes go: asked once, when it connects. */
  readonly target: () => { readonly host: string; readonly port: number };
  /** Called for each chunk; whether the connection is cut behind it. */
  readonly seen: () => boolean;
  readonly event: (kind: 'cut' | 'reset' | 'target-away', detail?: string) => void;
  /** Called for a fault that has cut this connection. */
  readonly hasCut: (active: ActiveFault) => void;
}

/** What a receiver needs to read what came before a reset: a reset overtakes what waits in a kernel. */
const settleMs = 5;

export class ProxiedConnection {
  readonly ended: Promise<void>;
  readonly #client: Socket;
  readonly #around: Surroundings;
  readonly #finish: () => void;
  /** Those that apply to it, each with the bytes that a cut still passes on. */
  readonly #faults = new Map<ActiveFault, number>();
  readonly #waiting = new Set<() => void>();
  /** Directions whose receiver got its FIN. */
  readonly #closed = new Set<Direction>();
  #server: Socket | undefined;
  #hasGap = false;
  /** Sockets that are not closed yet. */
  #sockets = 0;
  /** Reset, or about to be: nothing more is passed on. */
  #isOver = false;

  constructor(client: Socket, around: Surroundings) {
    this.#client = client;
    this.#around = around;
    let finish = (): void => undefined;
    this.ended = new Promise((resolve) => (finish = resolve));
    this.#finish = finish;
    this.#own(client);
  }

  #own(socket: Socket): void {
    this.#sockets += 1;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets -= 1;
      if (this.#sockets === 0) this.#finish();
    });
  }

  /** Begins, once the faults of its beginning are known. */
  start(): void {
    void this.#pump('up', this.#client);
    this.#connectUnlessHeld();
  }

  meets(active: ActiveFault): void {
    const { fault } = active;
    this.#faults.set(active, fault.kind === 'cut' ? fault.afterBytes : Infinity);
    if (fault.kind === 'end') for (const direction of fault.directions) this.#endEarly(direction);
    if (fault.kind === 'cut' && fault.afterBytes === 0) this.#cut(active);
    this.#wake();
  }

  leaves(active: ActiveFault): void {
    const { kind } = active.fault;
    if (!this.#faults.delete(active)) return;
    if (this.#hasGap && (kind === 'hole' || kind === 'end')) this.reset('its stream has a gap');
    this.#connectUnlessHeld();
    this.#wake();
  }

  /** Closes both sides by RST; what waits to be sent is lost. */
  reset(why = 'by the storm'): void {
    if (this.#sockets > 0 && !this.#isOver) this.#around.event('reset', why);
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    for (const socket of [this.#client, this.#server]) {
      // A reset of one whose end is under way fails, and Node never closes it then.
      if (socket?.writableEnded === true && !socket.writableFinished) socket.destroy();
      else socket?.resetAndDestroy();
    }
    this.#wake();
  }

  #cut(active?: ActiveFault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#around.counts.cuts += 1;
    this.#around.event('cut');
    if (active !== undefined) this.#around.hasCut(active);
    // The turn is for a receiver in this process, which reads between a timer and the turn.
    void sleep(settleMs)
      .then(() => turn())
      .then(() => this.#end());
  }

  /** A hole for its first bytes holds the connection itself: the server hears of it afterwards. */
  #connectUnlessHeld(): void {
    if (this.#server !== undefined || this.#isOver || this.#ofKind('hole').some(isForBoth)) return;
    const server = connect({ ...this.#around.target(), allowHalfOpen: true, noDelay: true });
    this.#server = server;
    this.#own(server);
    const isAway = (error: NodeJS.ErrnoException): void => this.#around.event('target-away', error.code);
    server.on('error', isAway).on('connect', () => server.off('error', isAway));
    if (this.#closed.has('up')) server.end();
    void this.#pump('down', server);
  }

  async #pump(direction: Direction, source: Socket): Promise<void> {
    try {
      for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        await this.#pass(direction, chunk);
        if (this.#isOver) return;
      }
      await this.#passEnd(direction);
    } catch {
      // The source was reset, or this connection was.
      if (this.#isHeld(direction)) this.#hasGap = true;
      await this.#until(() => !this.#isHeld(direction));
      if (!this.#isOver) this.#end();
    }
  }

  async #pass(direction: Direction, chunk: Buffer): Promise<void> {
    if (this.#isOver) return;
    const isLast = this.#around.seen();
    await this.#delayed();
    for (let rest = chunk; rest.length > 0 && !this.#isOver;) {
      const drip = this.#ofKind('drip').at(-1);
      const piece = rest.subarray(0, drip === undefined ? this.#room(direction) : 1);
      if (this.#isHeld(direction)) {
        this.#hasGap = true;
        break;
      }
      await this.#write(direction, piece);
      rest = rest.subarray(piece.length);
      if (drip !== undefined && rest.length > 0) await this.#pause(drip.everyMs);
    }
    if (isLast) this.#cut();
  }

  async #write(direction: Direction, piece: Buffer): Promise<void> {
    const sink = this.#sink(direction);
    const error = await new Promise<unknown>((resolve) => void sink?.write(piece, resolve));
    if (error instanceof Error || this.#isOver) return;
    this.#around.counts[direction] += piece.length;
    for (const [active, left] of this.#faults) {
      const { fault } = active;
      if (fault.kind !== 'cut' || fault.direction !== direction) continue;
      this.#faults.set(active, left - piece.length);
      if (left <= piece.length) this.#cut(active);
    }
  }

  /** The end of a sender reaches its receiver; in a hole, not before the hole ends, which resets it. */
  async #passEnd(direction: Direction): Promise<void> {
    if (this.#isHeld(direction)) {
      this.#hasGap = true;
      await this.#until(() => !this.#isHeld(direction));
    }
    if (!this.#isOver) this.#close(direction);
  }

  #endEarly(direction: Direction): void {
    this.#hasGap = true;
    this.#close(direction);
  }

  #close(direction: Direction): void {
    this.#closed.add(direction);
    this.#sink(direction)?.end();
  }

  #sink(direction: Direction): Socket | undefined {
    return direction === 'up' ? this.#server : this.#client;
  }

  #isHeld(direction: Direction): boolean {
    return [...this.#ofKind('hole'), ...this.#ofKind('end')].some(({ directions }) => directions.includes(direction));
  }

  /** Bytes until the next cut of a direction. */
  #room(direction: Direction): number {
    const rooms = [...this.#faults].map(([{ fault }, left]) =>
      fault.kind === 'cut' && fault.direction === direction ? left : Infinity,
    );
    return Math.min(Infinity, ...rooms);
  }

  #ofKind<Kind extends Fault['kind']>(kind: Kind): ReadonlyArray<Extract<Fault, { kind: Kind }>> {
    return [...this.#faults.keys()]
      .map(({ fault }) => fault)
      .filter((fault): fault is Extract<Fault, { kind: Kind }> => fault.kind === kind);
  }

  /** Waits as long as the delays in force ask, or until they end. */
  async #delayed(): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      const delayMs = Math.max(0, ...this.#ofKind('delay').map((fault) => fault.delayMs));
      const restMs = delayMs - (performance.now() - sinceMs);
      if (restMs <= 0 || this.#isOver) return;
      await this.#pause(restMs);
    }
  }

  /** Waits for a time, or for a change of the faults. */
  async #pause(pauseMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, pauseMs);
      this.#waiting.add(go);
    });
  }

  async #until(isTrue: () => boolean): Promise<void> {
    while (!isTrue() && !this.#isOver) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

function isForBoth({ directions }: { readonly directions: readonly Direction[] }): boolean {
  return directions.length === 2;
}
