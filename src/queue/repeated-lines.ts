/** Log lines of a trouble that comes again and again: one for each kind every ten seconds, with the number left out. */

const sameKindMs = 10_000;
/** Kinds that are remembered: errors have words of others in them. */
const mostKinds = 100;

interface Kind {
  readonly toldAtMs: number;
  leftOut: number;
}

export class RepeatedLines {
  readonly #now: () => number;
  readonly #kinds = new Map<string, Kind>();

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Calls `tell` where the kind of the message was not told lately, with the number of those of its kind left out since. */
  tell(message: string, tell: (leftOut: number) => void): void {
    const kind = kindOf(message);
    const known = this.#kinds.get(kind);
    const now = this.#now();
    if (known !== undefined && now - known.toldAtMs < sameKindMs) {
      known.leftOut += 1;
      return;
    }
    if (this.#kinds.size >= mostKinds) this.#kinds.clear();
    this.#kinds.set(kind, { toldAtMs: now, leftOut: 0 });
    tell(known?.leftOut ?? 0);
  }
}

/** A message without its ids, numbers and addresses. */
function kindOf(message: string): string {
  return message.replaceAll(/\S*\d\S*/g, '#').slice(0, 200);
}
