/** The items of one lane of an embedded queue, in memory: those that wait, in order, and those that were put off. */
import type { ChunkItem } from '../port.ts';

export type Work =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'chunk'; readonly item: ChunkItem }
  | { readonly kind: 'tick'; readonly name: string; readonly dueMs: number };

export interface Item {
  readonly id: string;
  readonly work: Work;
  /** Lower ones are first; equals in the order in which they came. */
  readonly priority: number;
  state: 'waiting' | 'delayed' | 'active' | 'failed';
  order: number;
  /** When a delayed item is due, milliseconds since 1970. */
  dueAtMs: number;
  attemptsMade: number;
  reason: string | undefined;
}

export class LaneItems {
  readonly #items = new Map<string, Item>();
  #waiting: Item[] = [];
  #delayed: Item[] = [];
  #order = 0;
  /** Until then nothing is taken. */
  heldUntilMs = 0;

  get all(): Iterable<Item> {
    return this.#items.values();
  }

  get(id: string): Item | undefined {
    return this.#items.get(id);
  }

  /** Nothing happens where an item has the id already. `dueAtMs`: puts it off. */
  add(id: string, work: Work, { priority = 0, dueAtMs }: { priority?: number; dueAtMs?: number } = {}): void {
    if (this.#items.has(id)) return;
    const item: Item = {
      id,
      work,
      priority,
      state: 'waiting',
      order: 0,
      dueAtMs: 0,
      attemptsMade: 0,
      reason: undefined,
    };
    this.#items.set(id, item);
    if (dueAtMs === undefined) this.putBack(item, 'back');
    else this.delay(item, dueAtMs);
  }

  /** `front`: before its equals, as one that is handed back is. */
  putBack(item: Item, where: 'front' | 'back'): void {
    this.#leave(item);
    this.#order += 1;
    item.state = 'waiting';
    item.order = where === 'back' ? this.#order : -this.#order;
    insert(this.#waiting, item, compareWaiting);
  }

  delay(item: Item, dueAtMs: number): void {
    this.#leave(item);
    item.state = 'delayed';
    item.dueAtMs = dueAtMs;
    insert(this.#delayed, item, (left, right) => left.dueAtMs - right.dueAtMs);
  }

  fail(item: Item, reason: string): void {
    this.#leave(item);
    item.state = 'failed';
    item.reason = reason;
  }

  remove(id: string): void {
    const item = this.#items.get(id);
    if (item === undefined) return;
    this.#leave(item);
    this.#items.delete(id);
  }

  /** Takes the next item that is due. */
  take(nowMs: number): Item | undefined {
    while ((this.#delayed[0]?.dueAtMs ?? Infinity) <= nowMs) this.putBack(this.#delayed[0] as Item, 'back');
    if (nowMs < this.heldUntilMs) return undefined;
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    this.#waiting.shift();
    first.state = 'active';
    return first;
  }

  /** When an item can be taken, milliseconds; `Infinity` if none will be. */
  nextDueMs(nowMs: number): number {
    const firstMs = this.#waiting.length > 0 ? nowMs : (this.#delayed[0]?.dueAtMs ?? Infinity);
    return firstMs === Infinity ? Infinity : Math.max(firstMs, this.heldUntilMs);
  }

  #leave(item: Item): void {
    if (item.state === 'waiting') removeFrom(this.#waiting, item);
    if (item.state === 'delayed') removeFrom(this.#delayed, item);
  }
}

function compareWaiting(left: Item, right: Item): number {
  return left.priority - right.priority || left.order - right.order;
}

/** Behind its equals. */
function insert(sorted: Item[], item: Item, compare: (left: Item, right: Item) => number): void {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(sorted[middle] as Item, item) <= 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, item);
}

function removeFrom(items: Item[], item: Item): void {
  const index = items.indexOf(item);
  if (index >= 0) items.splice(index, 1);
}
