/** The faults of a byte proxy that are in force, and the connections that they apply to. */

/** `up`: from the client to the server. */
export type Direction = 'up' | 'down';

/** The connections of a fault: those that are open now, those that come while it lasts, or both. */
export type Scope = 'now' | 'next' | 'all';

/** Ends a fault; more than once does nothing. Resolves when it is over, and the connections with a gap are reset. */
export type Release = () => Promise<void>;

export type Fault =
  /** Bytes of these directions are taken and lost. */
  | { readonly kind: 'hole'; readonly directions: readonly Direction[] }
  /** As a hole, and the receivers get a FIN. */
  | { readonly kind: 'end'; readonly directions: readonly Direction[] }
  | { readonly kind: 'delay'; readonly delayMs: number }
  | { readonly kind: 'drip'; readonly everyMs: number }
  | { readonly kind: 'cut'; readonly direction: Direction; readonly afterBytes: number; readonly most: number };

export interface ActiveFault {
  readonly fault: Fault;
  readonly scope: Scope;
}

/** What a connection does as faults come and go. */
interface Concerned {
  meets(active: ActiveFault): void;
  leaves(active: ActiveFault): void;
}

export class Faults {
  readonly #active = new Map<ActiveFault, Release>();
  readonly #cuts = new WeakMap<ActiveFault, number>();
  readonly #connections: Iterable<Concerned>;

  /** `connections`: those that are open, whenever it is asked. */
  constructor(connections: Iterable<Concerned>) {
    this.#connections = connections;
  }

  /** `forMs`: the most that it lasts; without it, until it is released. */
  add(fault: Fault, scope: Scope = 'all', forMs?: number): Release {
    const active: ActiveFault = { fault, scope };
    const timer = forMs === undefined ? undefined : setTimeout(() => void release(), forMs).unref();
    const release = (): Promise<void> => {
      clearTimeout(timer);
      if (this.#active.delete(active)) for (const connection of this.#connections) connection.leaves(active);
      return Promise.resolve();
    };
    this.#active.set(active, release);
    if (scope !== 'next') for (const connection of this.#connections) connection.meets(active);
    return release;
  }

  /** Hands a new connection the faults that apply to it. */
  apply(connection: Concerned): void {
    for (const active of this.#active.keys()) if (active.scope !== 'now') connection.meets(active);
  }

  /** Counts a connection that a cut has cut: behind the last one the fault ends. */
  readonly counted = (active: ActiveFault): void => {
    const cuts = (this.#cuts.get(active) ?? 0) + 1;
    this.#cuts.set(active, cuts);
    if (active.fault.kind === 'cut' && cuts >= active.fault.most) void this.#active.get(active)?.();
  };

  async calm(): Promise<void> {
    await Promise.all([...this.#active.values()].map((release) => release()));
  }
}
