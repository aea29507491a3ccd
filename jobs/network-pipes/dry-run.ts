/**
 * A push to a service that accepts everything, and answers in the order of the requests: what would be sent of a file,
 * and in how many requests. Pure; for a dry run.
 */
import { counted, figure, firstNames } from '../../src/core/base/text.ts';
import type { PushCheckpoint } from '../../src/core/pipes/checkpoint.ts';
import type { FilePosition } from '../../src/core/pipes/chunks-in-order.ts';
import { LookAhead, maxOpenEntries, type PipeChunk, type ReaderState } from '../../src/core/pipes/look-ahead.ts';
import { type PipeIdentity, PipeVersions, type VersionCount } from '../../src/core/pipes/pipe.ts';
import { rejectedOf } from '../../src/core/run/job-description.ts';
import type { PipeHeader } from '../../src/pipes/header.ts';
import type { PipeEntry, PipeItem, RejectedRows } from '../../src/pipes/items.ts';
import { joined, type PassedFileRows } from './checkpoint-writer.ts';
import { networkPipes } from './counts.ts';

export interface ImaginedPushOptions {
  readonly chunkItems: number;
  readonly chunkBytes: number;
  readonly pipeIdentity: PipeIdentity;
  /** Requests under way, at most. */
  readonly concurrency: number;
}

/** Pipes with lists of different length, and the names of the first few. */
interface UnevenLists {
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
  requests = 0;
  #items = 0;
  #bytes = 0;
  readonly unevenLists: { count: number; readonly first: string[] } = { count: 0, first: [] };

  constructor(options: ImaginedPushOptions) {
    const { chunkItems: maxItems, chunkBytes: maxBytes, pipeIdentity: identity, concurrency } = options;
    this.#options = options;
    this.#ahead = new LookAhead({ limits: () => ({ maxItems, maxBytes }), identity, concurrency });
  }

  /** About as many as it takes where no order keeps items apart. */
  get fewestRequests(): number {
    const { chunkItems, chunkBytes } = this.#options;
    return Math.max(Math.ceil(this.#items / chunkItems), Math.ceil(this.#bytes / chunkBytes));
  }

  get versions(): VersionCount {
    return this.#versions.count;
  }

  /** Takes the next entry of the file. */
  take(entry: PipeEntry): void {
    if (entry.kind === 'rejected') {
      this.#ahead.reject(entry);
      return;
    }
    this.#count(entry);
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

  #count(item: PipeItem): void {
    this.#versions.add(item);
    this.#items += 1;
    this.#bytes += item.bytes + 1;
    if (!item.hasUnevenLists) return;
    const { unevenLists } = this;
    unevenLists.count += 1;
    if (unevenLists.first.length >= maxShown) return;
    unevenLists.first.push(`${item.network}/${item.sourceId} (line ${item.firstLine})`);
  }

  #send(reader: ReaderState): void {
    for (let chunk = this.#ahead.next(reader); chunk !== undefined; chunk = this.#ahead.next(reader)) {
      this.requests += 1;
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

// Notices in the report of a pushed file. Pure.

/** A sentence each; for a push and a dry run. */
export function fileNotices(
  header: PipeHeader,
  form: FilePosition['form'],
  { firstRejects, counts }: Pick<PushCheckpoint, 'firstRejects' | 'counts'>,
): readonly string[] {
  return [
    ...(form === 'long' ? ['the file was read in the long form: consecutive rows of one pipe are one item'] : []),
    ...(header.missing.length === 0 ? [] : [`columns that the file does not have: ${header.missing.join(', ')}`]),
    ...(header.ignored.length === 0 ? [] : [`unknown columns, ignored: ${firstNames(header.ignored)}`]),
    ...firstRejects.map((reject) => `rejected: ${reject}`),
    ...furtherRejects(rejectedOf(networkPipes, counts) - firstRejects.length),
  ];
}

function furtherRejects(count: number): readonly string[] {
  if (count <= 0) return [];
  return [`rejected: ${counted(count, 'more row')}, each in the rejects file with its reason`];
}

/** Pipes of the file with several dates, and how these travel. */
export function versionNotices(
  { pipesWithSeveralDates: count, isLeast }: VersionCount,
  identity: PipeIdentity,
): readonly string[] {
  if (count === 0) return [];
  const pipes = counted(count, 'pipe has several dates', 'pipes have several dates');
  const how =
    identity === 'with-date'
      ? 'each is a version that is sent, several of them in one request where they fit (push.pipeIdentity: with-date)'
      : 'each is a version that is sent, in the order of the file, no two of one pipe in a request or at a time (push.pipeIdentity: unknown)';
  return [`${isLeast ? 'at least ' : ''}${pipes}: ${how}`];
}

/** A setting saves this factor of requests before it is worth a notice. */
const notableFactor = 2;

/** For a file that takes many more requests than it would with the other setting; `fewest`: with that. */
export function slowNotices(requests: number, fewest: number, identity: PipeIdentity): readonly string[] {
  if (identity === 'with-date' || requests <= fewest * notableFactor) return [];
  return [
    `the push takes about ${counted(requests, 'request')}, since few pipes have many dates; push.pipeIdentity: with-date takes about ${figure(fewest)}, and is right where the service keeps every date of a pipe`,
  ];
}

/** Fewer rows tell nothing of the rest of a file. */
const tellingRows = 50;

/**
 * That a push takes many requests, judged by the first rows of the file: the pipes of as many rows as are read ahead are
 * fewer than a request takes. Empty where nothing speaks for it.
 */
export function slowStart(
  first: readonly PipeEntry[],
  { chunkItems, concurrency, pipeIdentity }: Pick<ImaginedPushOptions, 'chunkItems' | 'concurrency' | 'pipeIdentity'>,
): readonly string[] {
  const items = first.filter((entry) => entry.kind === 'item');
  if (pipeIdentity === 'with-date' || items.length < tellingRows) return [];
  const pipes = new Set(items.map(({ key }) => key)).size;
  const together = Math.max(pipes, Math.floor((pipes / items.length) * maxOpenEntries(chunkItems, concurrency)));
  if (together * notableFactor > Math.min(chunkItems, items.length)) return [];
  return [
    `the first ${counted(items.length, 'row')} are of ${counted(pipes, 'pipe')}, and dates of one pipe go in requests of their own, one after the other: push.pipeIdentity: with-date is quicker, and right where the service keeps every date of a pipe; a dry run tells how many requests it takes`,
  ];
}

/**
 * For a dry run alone. The interface demands no equal lengths, other services of its kind do (docs/interface.md section
 * 10); real networks have such pipes by the thousand (two elevations, one length).
 */
export function unevenNotices({ count, first }: UnevenLists): readonly string[] {
  if (count === 0) return [];
  const whose = counted(count, 'pipe has lists', 'pipes have lists');
  const names = `${first.join(', ')}${count === first.length ? '' : ', …'}`;
  return [`${whose} of different length: ${names}. They are sent; some services demand four lists of equal length`];
}
