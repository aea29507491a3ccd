/**
 * Sends one slice until each of its items has an outcome: part after part, halved where the service refuses (DESIGN.md
 * section 4.3). Parts of a slice never go side by side, so what was halved is sent in an order that nothing depends on.
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
    return sent;
  }

  async #sendPart(part: Part, halving: ChunkHalving, sent: SentItems): Promise<void> {
    const items = sent.of(part);
    try {
      await this.#post(items, sent);
      halving.accepted();
      sent.accepted.push(...items);
      this.#failuresInARow = 0;
    } catch (error) {
      this.#takeError(error, { part, halving, sent });
    }
  }

  #post(items: readonly PipeItem[], sent: SentItems): Promise<void> {
    const { service, signal, isHeld } = this.#parts;
    // Looked at here, since a process that stood still has not seen its signal yet (G5).
    if (!isHeld()) throw new AbortedError('another worker may have taken the push over');
    const body = `[${items.map((item) => item.body).join(',')}]`;
    return service.upsertNetworkPipes(body, { signal, onAttempt: () => (sent.requests += 1) });
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
    } else if (this.#isGivenUp(error)) {
      // As one too large: that one half was taken says nothing of the other here.
      sent.giveUp(sent.failed, halving.tooLarge(), reasonOf(error));
    } else {
      throw error;
    }
  }

  #isGivenUp(error: unknown): boolean {
    if (!(error instanceof TransientError) || error.serviceDown || !this.#parts.givesUpItems()) return false;
    this.#failuresInARow += 1;
    return this.#failuresInARow < maxFailuresInARow;
  }
}

/** The outcome as it comes about. */
class SentItems implements SliceOutcome<PipeItem> {
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
}

/** `the service answered 422: …`: which call it was goes without saying. The words are cut and cleaned already. */
function reasonOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return words.replace(/^[A-Z]+ \/\S+ /, 'the service ');
}
