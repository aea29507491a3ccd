/**
 * Sends one slice until each of its items has an outcome: part after part, halved where the service refuses (DESIGN.md
 * section 4.3). Parts of a slice never go side by side, so what was halved is sent in an order that nothing depends on.
 *
 * An item whose request fails again and again, though the service does not refuse it, is only given up where the service is
 * seen to be well: an outage is no fault of the items that it met.
 */
import { AbortedError, TransientError } from '../../core/errors.ts';
import { ChunkHalving, type Part } from '../../core/pipe-halving.ts';
import { arrayBytes } from '../../core/pipe-slices.ts';
import type { GivenUpItem, SliceOutcome } from '../../core/push-accounts.ts';
import { judgeBulkError } from '../../core/verdict.ts';
import type { PipeItem } from '../../pipes/items.ts';
import type { ProductionDataService } from '../../service/production-data-service.ts';
import type { BodyLimit } from './body-limit.ts';

export interface SenderParts {
  readonly service: ProductionDataService;
  readonly limit: BodyLimit;
  readonly signal: AbortSignal;
  /** Whether this worker still has the push for itself. */
  readonly isHeld: () => boolean;
  /**
   * Whether an item whose requests fail again and again is to be given up, so that the rest of the file goes on; the whole
   * push is tried again otherwise.
   */
  readonly givesUpItems: () => boolean;
}

/** Requests that fail one after another, over all slices, before it is the service and not an item that is at fault. */
const maxFailuresInARow = 20;

export class SliceSender {
  readonly #parts: SenderParts;
  #failuresInARow = 0;
  /** Requests that were taken, of all slices. */
  #taken = 0;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when every item is accepted, refused or given up. Throws what concerns more than these items: TransientError
   * (try the slice again later), AccessError, AbortedError, PermanentError.
   */
  async send(items: readonly PipeItem[]): Promise<SliceOutcome<PipeItem>> {
    const { limit } = this.#parts;
    const halving = new ChunkHalving(items.map(({ bytes }) => bytes));
    const sent = new SentItems(items);
    for (let part = halving.next(limit.maxBytes); part !== undefined; part = halving.next(limit.maxBytes)) {
      await this.#sendPart(part, halving, sent);
    }
    for (const suspect of sent.suspects) await this.#sendSuspect(suspect, sent);
    return sent;
  }

  async #sendPart(part: Part, halving: ChunkHalving, sent: SentItems): Promise<void> {
    const items = sent.of(part);
    try {
      await this.#post(items, sent);
      halving.accepted();
      sent.accepted.push(...items);
    } catch (error) {
      this.#takeError(error, { part, halving, sent });
    }
  }

  /** Once more and alone, after the rest of the slice. Throws where it may as well be the service that is at fault. */
  async #sendSuspect({ item, takenBefore }: Suspect, sent: SentItems): Promise<void> {
    try {
      await this.#post([item], sent);
      sent.accepted.push(item);
    } catch (error) {
      if (judgeBulkError(error) !== undefined) {
        sent.refused.push({ item, reason: reasonOf(error) });
        return;
      }
      if (!isOfItem(error) || !(await this.#isServiceWell(takenBefore, sent))) throw error;
      sent.failed.push({ item, reason: reasonOf(error) });
    }
  }

  /** What was taken already is sent again, which is harmless (G5): nobody but this slice may send these pipes now. */
  async #isServiceWell(takenBefore: number, sent: SentItems): Promise<boolean> {
    const [known] = sent.accepted;
    if (known === undefined) return this.#taken > takenBefore;
    await this.#post([known], sent);
    return true;
  }

  async #post(items: readonly PipeItem[], sent: SentItems): Promise<void> {
    const { service, signal, isHeld } = this.#parts;
    // Looked at here, since a process that stood still has not seen its signal yet (G5).
    if (!isHeld()) throw new AbortedError('another worker may have taken the push over');
    const body = `[${items.map((item) => item.body).join(',')}]`;
    await service.upsertNetworkPipes(body, { signal, onAttempt: () => (sent.requests += 1) });
    this.#failuresInARow = 0;
    this.#taken += 1;
  }

  #takeError(
    error: unknown,
    { part, halving, sent }: { readonly part: Part; readonly halving: ChunkHalving; readonly sent: SentItems },
  ): void {
    const refusal = judgeBulkError(error);
    if (refusal === 'items') {
      sent.giveUp(sent.refused, halving.refused(), reasonOf(error));
    } else if (refusal === 'size') {
      const items = sent.of(part);
      const itemBytes = items.reduce((bytes, item) => bytes + item.bytes, 0);
      if (items.length > 1) this.#parts.limit.refused(arrayBytes(itemBytes, items.length));
      sent.giveUp(sent.refused, halving.tooLarge(), reasonOf(error));
    } else if (this.#isSearchedFor(error)) {
      // As one too large: that one half was taken says nothing of the other here.
      sent.suspect(halving.tooLarge(), this.#taken);
    } else {
      throw error;
    }
  }

  /** Whether the items at fault are to be found by halves. */
  #isSearchedFor(error: unknown): boolean {
    if (!isOfItem(error) || !this.#parts.givesUpItems()) return false;
    this.#failuresInARow += 1;
    return this.#failuresInARow < maxFailuresInARow;
  }
}

/** Whether it may be what was sent, and not the service, that makes a request fail. */
function isOfItem(error: unknown): boolean {
  return error instanceof TransientError && !error.serviceDown;
}

/** An item whose own request failed, when so many others had been taken. */
interface Suspect {
  readonly item: PipeItem;
  readonly takenBefore: number;
}

/** The outcome as it comes about. */
class SentItems implements SliceOutcome<PipeItem> {
  readonly suspects: Suspect[] = [];
  readonly accepted: PipeItem[] = [];
  readonly refused: GivenUpItem<PipeItem>[] = [];
  readonly failed: GivenUpItem<PipeItem>[] = [];
  requests = 0;
  readonly #items: readonly PipeItem[];

  constructor(items: readonly PipeItem[]) {
    this.#items = items;
  }

  of({ from, to }: Part): readonly PipeItem[] {
    return this.#items.slice(from, to);
  }

  /** Nothing where `index` is undefined: the part is halved, and nobody is guilty yet. */
  giveUp(into: GivenUpItem<PipeItem>[], index: number | undefined, reason: string): void {
    const item = index === undefined ? undefined : this.#items[index];
    if (item !== undefined) into.push({ item, reason });
  }

  suspect(index: number | undefined, takenBefore: number): void {
    const item = index === undefined ? undefined : this.#items[index];
    if (item !== undefined) this.suspects.push({ item, takenBefore });
  }
}

/** `the service answered 422: …`: which call it was goes without saying. The words are cut and cleaned already. */
function reasonOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return words.replace(/^[A-Z]+ \/\S+ /, 'the service ');
}
