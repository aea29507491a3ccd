/** Gathers what of an embedded queue must outlive its process, and writes it to the ledger. */
import { after } from '../../timers/sleep.ts';
import type { QueueStateEntry, QueueStateKind, QueueStateStore } from '../../core/run/warehouse-queue.ts';

/** How long what nobody waits for is gathered before it is written. */
const gatherMs = 2_000;

/** Gathers changes, and writes them one transaction at a time. */
export class KeptState {
  readonly #store: QueueStateStore;
  #changes = new Map<string, QueueStateEntry>();
  #writing: Promise<void> = Promise.resolve();
  #isSoon = false;

  constructor(store: QueueStateStore) {
    this.#store = store;
  }

  read(kinds: readonly QueueStateKind[], key?: string): Promise<readonly QueueStateEntry[]> {
    return this.#store.read(kinds, key);
  }

  /** Written soon, with what else is written by then; a write that fails is made again with the next. */
  record(kind: QueueStateKind, key: string, value?: unknown): void {
    this.#changes.set(`${kind} ${key}`, { kind, key, value });
    this.#flushSoon();
  }

  /** Written at once, though nobody waits for it; where that fails, as by {@link record}. */
  recordNow(kind: QueueStateKind, key: string, value?: unknown): void {
    this.#changes.set(`${kind} ${key}`, { kind, key, value });
    void this.flush().catch(() => this.#flushSoon());
  }

  #flushSoon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    const write = (): void => {
      this.#isSoon = false;
      void this.flush().catch(() => undefined);
    };
    // A process that ends writes it by itself.
    after(gatherMs, write, { ref: false });
  }

  /** Written when it resolves. Rejects where the warehouse cannot be written. */
  async keep(kind: QueueStateKind, key: string, value?: unknown): Promise<void> {
    this.#changes.set(`${kind} ${key}`, { kind, key, value });
    await this.flush();
  }

  /** What comes while a transaction is written goes with the next one, whoever waits for it. */
  async flush(): Promise<void> {
    const writing = this.#writing
      .catch(() => undefined)
      .then(async () => {
        if (this.#changes.size === 0) return;
        const changes = this.#changes;
        this.#changes = new Map();
        try {
          await this.#store.write([...changes.values()]);
        } catch (error) {
          // What came meanwhile is newer.
          this.#changes = new Map([...changes, ...this.#changes]);
          throw error;
        }
      });
    this.#writing = writing;
    await writing;
  }
}
