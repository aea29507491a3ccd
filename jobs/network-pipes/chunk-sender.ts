/**
 * Sends one chunk until each of its items has an outcome: part after part, bisected when the service refuses
 * (docs/design.md section 4.3). Parts of a chunk are never sent concurrently, so no outcome depends on the order of
 * bisected parts.
 *
 * An item whose request fails repeatedly, without a refusal, is given up only while the service works for other items: an
 * outage is not a fault of the items in it.
 */
import { AbortedError, TransientError } from '../../src/core/base/errors.ts';
import { arrayBytes } from '../../src/core/pipes/chunks-in-order.ts';
import { ChunkBisection, type ItemRange, maxBytesAfterTooLarge } from '../../src/core/pipes/bisection.ts';
import type { GivenUpItem, PipeChunkOutcome } from '../../src/core/pipes/checkpoint.ts';
import { judgeBulkError } from '../../src/core/run/retry-decision.ts';
import type { PipeItem } from '../../src/pipes/items.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';

/** Items of a chunk that have their outcome while others are still sent. */
type SentPart = Pick<PipeChunkOutcome<PipeItem>, 'accepted' | 'refused'>;

export interface SenderContext {
  readonly service: ProductionDataService;
  readonly limit: BodyLimit;
  readonly signal: AbortSignal;
  /** Whether this worker still holds the push exclusively. */
  readonly isOwned: () => boolean;
  /**
   * Whether to give up an item whose requests fail repeatedly, so that the rest of the file continues; otherwise the
   * whole push is retried.
   */
  readonly givesUpItems: () => boolean;
}

/** Number of consecutive failed requests, over all chunks, from which the service and not an item is at fault. */
const maxFailuresInARow = 20;

export class ChunkSender {
  readonly #context: SenderContext;
  #failuresInARow = 0;
  /** Number of accepted requests, over all chunks. */
  #taken = 0;

  constructor(context: SenderContext) {
    this.#context = context;
  }

  /**
   * Resolves when every item is accepted, refused or given up; `onPart` is told of the items of each part before. Throws
   * errors that concern more than these items: TransientError (try the chunk again later), AccessError, AbortedError,
   * PermanentError.
   */
  async send(
    items: readonly PipeItem[],
    onPart: (part: SentPart) => void = () => undefined,
  ): Promise<PipeChunkOutcome<PipeItem>> {
    const { limit } = this.#context;
    const sent = new SentItems(items, onPart);
    const nextPart = (): ItemRange | undefined => sent.bisection.next(limit.maxBytes);
    for (let part = nextPart(); part !== undefined; part = nextPart()) await this.#sendPart(sent.of(part), sent);
    for (const suspect of sent.suspects) await this.#sendSuspect(suspect, sent);
    return sent;
  }

  async #sendPart(items: readonly PipeItem[], sent: SentItems): Promise<void> {
    try {
      await this.#post(items, sent);
      sent.bisection.accepted();
      sent.accept(items);
    } catch (error) {
      this.#takeError(error, items, sent);
    }
  }

  /** Sends the item once more and alone, after the rest of the chunk. Throws if the service may be at fault. */
  async #sendSuspect({ item, takenBefore }: Suspect, sent: SentItems): Promise<void> {
    const error = await this.#sendAlone(item, sent);
    if (error === undefined) return;
    if (!(await this.#isServiceWell(takenBefore, sent))) throw error;
    // An outage may have ended between the two requests: only a failure after an accepted request counts.
    const errorOfItem = await this.#sendAlone(item, sent);
    if (errorOfItem !== undefined) sent.failed.push({ item, reason: reasonOf(errorOfItem) });
  }

  /** Undefined if the item was accepted or refused, else the error that the item may have caused. Throws any other. */
  async #sendAlone(item: PipeItem, sent: SentItems): Promise<TransientError | undefined> {
    try {
      await this.#post([item], sent);
      sent.accepted.push(item);
    } catch (error) {
      if (judgeBulkError(error) !== undefined) sent.refused.push({ item, reason: reasonOf(error) });
      else if (isOfItem(error)) return error;
      else throw error;
    }
    return undefined;
  }

  /** Sends accepted items again, which is harmless (G5): only this chunk may send these pipes now. */
  async #isServiceWell(takenBefore: number, sent: SentItems): Promise<boolean> {
    const [known] = sent.accepted;
    if (known === undefined) return this.#taken > takenBefore;
    await this.#post([known], sent);
    return true;
  }

  async #post(items: readonly PipeItem[], sent: SentItems): Promise<void> {
    const { service, signal, isOwned } = this.#context;
    // Checked here, since a suspended process has not seen its signal yet (G5).
    if (!isOwned()) throw new AbortedError('another worker may have taken the push over');
    const body = `[${items.map((item) => item.body).join(',')}]`;
    await service.upsertNetworkPipes(body, { signal, onAttempt: () => (sent.requests += 1) });
    this.#failuresInARow = 0;
    this.#taken += 1;
  }

  #takeError(error: unknown, items: readonly PipeItem[], sent: SentItems): void {
    const refusal = judgeBulkError(error);
    if (refusal === 'items') sent.refuse(sent.bisection.refused(), reasonOf(error));
    else if (refusal === 'size') {
      const itemBytes = items.reduce((bytes, item) => bytes + item.bytes, 0);
      if (items.length > 1) this.#context.limit.refused(arrayBytes(itemBytes, items.length));
      sent.refuse(sent.bisection.tooLarge(), reasonOf(error));
    } else if (this.#isSearchedFor(error)) {
      // Treated as too large: that the other half was accepted says nothing here.
      sent.suspect(sent.bisection.tooLarge(), this.#taken);
    } else throw error;
  }

  /** Whether to find the items at fault by bisection. */
  #isSearchedFor(error: unknown): boolean {
    if (!isOfItem(error) || !this.#context.givesUpItems()) return false;
    this.#failuresInARow += 1;
    return this.#failuresInARow < maxFailuresInARow;
  }
}

/** Whether the sent items, and not the service, may be the cause of a failed request. */
function isOfItem(error: unknown): error is TransientError {
  return error instanceof TransientError && !error.serviceDown;
}

/** An item whose own request failed, with the number of accepted requests at that time. */
interface Suspect {
  readonly item: PipeItem;
  readonly takenBefore: number;
}

/** The outcome under construction. */
class SentItems implements PipeChunkOutcome<PipeItem> {
  readonly suspects: Suspect[] = [];
  readonly accepted: PipeItem[] = [];
  readonly refused: GivenUpItem<PipeItem>[] = [];
  readonly failed: GivenUpItem<PipeItem>[] = [];
  requests = 0;
  readonly bisection: ChunkBisection;
  readonly #items: readonly PipeItem[];
  readonly #onPart: (part: SentPart) => void;

  constructor(items: readonly PipeItem[], onPart: (part: SentPart) => void) {
    this.bisection = new ChunkBisection(items.map(({ bytes }) => bytes));
    this.#items = items;
    this.#onPart = onPart;
  }

  of({ from, to }: ItemRange): readonly PipeItem[] {
    return this.#items.slice(from, to);
  }

  accept(items: readonly PipeItem[]): void {
    this.accepted.push(...items);
    if (items.length < this.#items.length) this.#onPart({ accepted: items, refused: [] });
  }

  /** Does nothing if `index` is undefined: the part is bisected, and no item is identified yet. */
  refuse(index: number | undefined, reason: string): void {
    const item = index === undefined ? undefined : this.#items[index];
    if (item === undefined) return;
    this.refused.push({ item, reason });
    this.#onPart({ accepted: [], refused: [{ item, reason }] });
  }

  suspect(index: number | undefined, takenBefore: number): void {
    const item = index === undefined ? undefined : this.#items[index];
    if (item !== undefined) this.suspects.push({ item, takenBefore });
  }
}

/**
 * `the service answered 422: …`, without the name of the call, which is always the same. The message is already cut and
 * cleaned.
 */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^[A-Z]+ \/\S+ /, 'the service ');
}

/** The limit of a request body: the configured size, or less if the service was found to accept less (413). */
export class BodyLimit {
  #maxBytes: number;
  #isRecorded = true;

  /** `knownBytes`: the limit that was found earlier. */
  constructor(configuredBytes: number, knownBytes: number | undefined) {
    this.#maxBytes = Math.min(configuredBytes, knownBytes ?? configuredBytes);
  }

  /** Limit of a body in UTF-8 bytes, for every chunk from now on. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** Reports that a body of several items was too large. */
  refused(bytes: number): void {
    const lower = maxBytesAfterTooLarge(this.#maxBytes, bytes);
    if (lower < this.#maxBytes) this.#isRecorded = false;
    this.#maxBytes = lower;
  }

  /** A newly found limit to be stored; each is returned once. */
  takeFound(): number | undefined {
    if (this.#isRecorded) return undefined;
    this.#isRecorded = true;
    return this.#maxBytes;
  }
}
