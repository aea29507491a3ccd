/**
 * A push to a service that accepts everything, and answers in the order of the requests: what would be sent of a file,
 * and in how many requests. Pure; for a dry run.
 */
import { LookAhead, type PipeChunk, type ReaderState } from '../../../src/core/pipes/look-ahead.ts';
import type { PipeIdentity } from '../../../src/core/pipes/pipe-version.ts';
import { PipeVersions, type VersionCount } from '../../../src/core/pipes/version-count.ts';
import type { PipeEntry, PipeItem, RejectedRows } from '../../../src/pipes/items.ts';
import { joined, type PassedFileRows } from './passed-rows.ts';

export interface ImaginedPushOptions {
  readonly chunkItems: number;
  readonly chunkBytes: number;
  readonly pipeIdentity: PipeIdentity;
  /** Requests under way, at most. */
  readonly concurrency: number;
}

/** Pipes with lists of different length, and the names of the first few. */
export interface UnevenLists {
  readonly count: number;
  readonly first: readonly string[];
}

/** Number of uneven pipes that are named. */
const maxShown = 5;

export class ImaginedPush {
  readonly #options: ImaginedPushOptions;
  readonly #ahead: LookAhead<PipeItem, RejectedRows>;
  readonly #versions = new PipeVersions();
  /** In the order of their requests. */
  readonly #underWay: PipeChunk<PipeItem>[] = [];
  #passed: PassedFileRows | undefined;
  #requests = 0;
  #items = 0;
  #bytes = 0;
  readonly #uneven: string[] = [];
  #unevenCount = 0;

  constructor(options: ImaginedPushOptions) {
    const { chunkItems: maxItems, chunkBytes: maxBytes, pipeIdentity: identity, concurrency } = options;
    this.#options = options;
    this.#ahead = new LookAhead({ limits: () => ({ maxItems, maxBytes }), identity, concurrency });
  }

  get requests(): number {
    return this.#requests;
  }

  /** About as many as it takes where no order keeps items apart. */
  get fewestRequests(): number {
    const { chunkItems, chunkBytes } = this.#options;
    return Math.max(Math.ceil(this.#items / chunkItems), Math.ceil(this.#bytes / chunkBytes));
  }

  get versions(): VersionCount {
    return this.#versions.count;
  }

  get unevenLists(): UnevenLists {
    return { count: this.#unevenCount, first: this.#uneven };
  }

  /** Takes the next entry of the file. */
  take(entry: PipeEntry): void {
    if (entry.kind === 'rejected') {
      this.#ahead.reject(entry);
      return;
    }
    this.#note(entry);
    this.#ahead.add(entry);
    this.#send('reading');
    while (!this.#ahead.hasRoom && !this.#ahead.isSettled) this.#settleNext('waiting');
  }

  /** Sends what is left. */
  end(): void {
    while (!this.#ahead.isSettled) this.#settleNext('ended');
  }

  /** The rows that were passed since the last call. */
  takePassed(): PassedFileRows | undefined {
    this.#pass();
    const passed = this.#passed;
    this.#passed = undefined;
    return passed;
  }

  #note(item: PipeItem): void {
    this.#versions.add(item);
    this.#items += 1;
    this.#bytes += item.bytes + 1;
    if (!item.hasUnevenLists) return;
    this.#unevenCount += 1;
    if (this.#uneven.length < maxShown) {
      this.#uneven.push(`${item.network}/${item.sourceId} (line ${item.firstLine})`);
    }
  }

  #send(reader: ReaderState): void {
    for (let chunk = this.#ahead.next(reader); chunk !== undefined; chunk = this.#ahead.next(reader)) {
      this.#requests += 1;
      this.#underWay.push(chunk);
    }
    if (reader === 'reading') this.#settleFirst();
  }

  #settleNext(reader: 'waiting' | 'ended'): void {
    this.#send(reader);
    this.#settleFirst();
    this.#pass();
  }

  #settleFirst(): void {
    const chunk = this.#underWay.shift();
    if (chunk === undefined) return;
    const outcome = { accepted: chunk.items, refused: [], failed: [], requests: 1 };
    this.#ahead.settle(chunk, outcome, () => {
      throw new Error('nothing is refused');
    });
  }

  #pass(): void {
    const passed = this.#ahead.pass();
    if (passed !== undefined) this.#passed = joined(this.#passed, passed);
  }
}
