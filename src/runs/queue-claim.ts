/**
 * Makes a queue the only one that works a warehouse, and renews that claim while a process works (G11, docs/design.md
 * section 5).
 *
 *   Redis        the id of the queue; every beat restores it after Redis lost it
 *   warehouse    the id of the queue that works it, the epoch, and the last beat
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { faultOf, TakenOverError, UnreachableError, UsageError } from '../core/base/errors.ts';
import { roughDurationText } from '../core/base/text.ts';
import { type BeatTimes, decideQueue, type QueueDecision, type QueueKind } from '../core/run/warehouse-queue.ts';
import type { runsQueueName, RunQueue } from '../queue/port.ts';
import { sleep } from '../timers/sleep.ts';
import type { Ledger, WarehouseIdentity } from '../warehouse/port/warehouse.ts';

const runsQueue: typeof runsQueueName = 'runs';

export interface ClaimContext {
  readonly ledger: Pick<Ledger, 'ownership'>;
  readonly queue: Pick<RunQueue, 'identity' | 'workers' | 'isEnded'>;
  readonly location: string;
  readonly times: BeatTimes;
  readonly kind: QueueKind;
}

export interface WorkingClaimContext extends ClaimContext {
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** Whether the process of a queue that beats has certainly ended: it need not be waited for. */
  readonly isGone?: (queueId: string) => Promise<boolean>;
  /** What ends with the claim: prepared while what is written still counts. */
  readonly work?: {
    /** Called after each beat: until then no other process takes the warehouse, milliseconds since 1970. */
    beaten(sureUntilMs: number): void;
    prepareEnd(): Promise<void>;
    end(): Promise<void>;
  };
}

/** Another process works the warehouse through its embedded queue: it takes the runs of this one too. */
export class WorkedElsewhereError extends UnreachableError {
  override readonly name = 'WorkedElsewhereError';

  constructor(location: string, hint: string) {
    super('warehouse', `${location} is worked by another process`, { hint });
  }
}

/** How long the end of a claim waits for Redis. */
const releaseMs = 2_000;

/**
 * For a command that only queues a run: throws UnreachableError if living workers of another queue have the warehouse,
 * or if those of this queue have another warehouse; and UsageError if the warehouse has a queue of another kind. Writes
 * nothing. A run of an embedded queue is stored whoever works: the next process finds it in the ledger.
 */
export async function checkQueue(context: ClaimContext): Promise<void> {
  const { decision } = await readClaim(context);
  if (context.kind === 'embedded') return;
  if (decision.kind === 'wait') throw worked(context, decision.waitMs);
}

/**
 * For a process that works. Throws UnreachableError as {@link checkQueue} does; otherwise assigns the warehouse to the
 * queue.
 */
export async function claimQueue(context: WorkingClaimContext): Promise<QueueClaim> {
  for (;;) {
    const { identity, queueId, decision } = await readClaim(context);
    const isWaiting = decision.kind === 'wait' && !(await hasEnded(context, identity));
    if (isWaiting) throw worked(context, decision.waitMs);
    const ours = await establish(context, identity, queueId);
    const claimed = { queueId: ours, warehouseId: identity.warehouseId };
    if (decision.kind === 'owner') {
      // Ends a start whose beat cannot be written, as takeOver does.
      await context.ledger.ownership.beat(ours, identity.epoch);
      return new QueueClaim(context, { ...claimed, epoch: identity.epoch });
    }
    const epoch = await context.ledger.ownership.takeOver(ours, identity.epoch, context.kind);
    // Another queue was first: decides again.
    if (epoch === undefined) continue;
    if (decision.kind === 'wait' || decision.isTakeover) {
      context.log.warn(
        { epoch, warehouse: context.location },
        'took the warehouse over: its last queue has no living worker',
      );
    }
    return new QueueClaim(context, { ...claimed, epoch });
  }
}

async function readClaim({ ledger: { ownership }, queue, times, location, kind }: ClaimContext): Promise<{
  readonly identity: WarehouseIdentity;
  readonly queueId: string | undefined;
  readonly decision: QueueDecision;
}> {
  const [identity, { queueId, warehouseId }] = [await ownership.read(), await queue.identity.read()];
  requireKind(identity, { kind, location });
  if (warehouseId !== undefined && warehouseId !== identity.warehouseId) throw otherWarehouse(location);
  const beatAgeMs = await ownership.beatAgeMs();
  return { identity, queueId, decision: decideQueue({ queueId, ownerId: identity.queueId, beatAgeMs }, times) };
}

/** The id of the queue in Redis, written by this process if there was none. */
async function establish(
  { queue, times, location }: ClaimContext,
  { warehouseId }: WarehouseIdentity,
  queueId: string | undefined,
): Promise<string> {
  const kept = await queue.identity.keep(queueId ?? randomUUID(), warehouseId, times.staleAfterMs);
  if (kept.warehouseId !== warehouseId || kept.queueId === undefined) throw otherWarehouse(location);
  return kept.queueId;
}

async function hasEnded({ isGone }: WorkingClaimContext, { queueId }: WarehouseIdentity): Promise<boolean> {
  return queueId !== undefined && (await isGone?.(queueId)) === true;
}

/** Throws UsageError: two kinds of queue know nothing of each other's runs. */
function requireKind(
  { queueKind }: Pick<WarehouseIdentity, 'queueKind'>,
  { kind, location }: Pick<ClaimContext, 'kind' | 'location'>,
): void {
  if (queueKind === undefined || queueKind === kind) return;
  const [has, would] = kind === 'redis' ? ['an embedded queue', 'Redis'] : ['Redis', 'an embedded queue'];
  throw new UsageError(`${location} is worked through ${has}, and the configuration says ${would}`, {
    hint:
      kind === 'redis'
        ? 'Leave the settings of Redis out.'
        : 'Set redis.url (WELLSYNC_REDIS_URL) as its workers have it.',
    action: { kind: 'use-queue', queue: kind },
  });
}

function worked({ location, kind }: ClaimContext, waitMs: number): UnreachableError {
  const wait = roughDurationText(Math.max(1_000, waitMs));
  if (kind === 'embedded') {
    const hint = `It takes the runs of other commands too. Where it was killed, or is stopped, another one may work in ${wait} at most.`;
    return new WorkedElsewhereError(location, hint);
  }
  const may = `a worker of this queue may start in ${wait}.`;
  return new UnreachableError(
    'warehouse',
    `${location} is worked through another queue, or through this one whose Redis lost its data`,
    {
      hint: `Set WELLSYNC_REDIS_URL and WELLSYNC_QUEUE_PREFIX as its workers have them. If none of them lives, ${may}`,
    },
  );
}

/** For a queue whose living workers have another warehouse than the one at `location`. */
export function otherWarehouse(location: string): UnreachableError {
  return new UnreachableError('warehouse', `workers of this queue work another warehouse than ${location}`, {
    hint: 'Set WELLSYNC_QUEUE_PREFIX to another name for this warehouse, or WELLSYNC_WAREHOUSE to theirs.',
  });
}

interface Claimed {
  readonly queueId: string;
  readonly warehouseId: string;
  readonly epoch: number;
}

/** Beats until it is disposed, or until another queue has the warehouse. */
export class QueueClaim implements AsyncDisposable {
  readonly #context: WorkingClaimContext;
  readonly #claimed: Claimed;
  readonly #takenOver = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #liftFence: () => void;
  #beating: Promise<void>;
  #isKeeping = false;
  /** What another process does afterwards is no loss. */
  #isEnded = false;
  /** Why the last beat could not be written. */
  #trouble: string | undefined;

  constructor(context: WorkingClaimContext, claimed: Claimed) {
    this.#context = context;
    this.#claimed = claimed;
    this.#liftFence = context.ledger.ownership.fence(claimed.epoch, (error) => this.#lose(error));
    this.#beating = this.#beat();
    this.#timer = setInterval(() => {
      this.#beating = this.#beat();
    }, context.times.beatEveryMs);
  }

  /** Aborts, with a TakenOverError, once another queue has the warehouse. */
  get signal(): AbortSignal {
    return this.#takenOver.signal;
  }

  get isBeating(): boolean {
    return this.#trouble === undefined && !this.signal.aborted;
  }

  /** Lets the process go on beside others after a claim that has ended: only where it has no work left to commit. */
  liftFence(): void {
    this.#liftFence();
  }

  #lose(error: Error): void {
    if (this.signal.aborted || this.#isEnded) return;
    clearInterval(this.#timer);
    this.#takenOver.abort(error);
    this.#context.log.error({ warehouse: this.#context.location, epoch: this.#claimed.epoch }, error.message);
  }

  async #beat(): Promise<void> {
    const { ledger, times, work } = this.#context;
    const atMs = Date.now();
    try {
      await ledger.ownership.beat(this.#claimed.queueId, this.#claimed.epoch);
      work?.beaten(atMs + times.staleAfterMs);
      this.#trouble = undefined;
    } catch (error) {
      if (error instanceof TakenOverError) this.#lose(error);
      else this.#warn(faultOf(error).message);
    }
    void this.#keepIdentity();
  }

  #warn(reason: string): void {
    if (this.#trouble === reason) return;
    this.#trouble = reason;
    this.#context.log.warn({ warehouse: this.#context.location, because: reason }, 'the beat could not be written');
  }

  /** During an outage of Redis one call waits for it, not one for each beat. */
  async #keepIdentity(): Promise<void> {
    if (this.#isKeeping || this.signal.aborted) return;
    this.#isKeeping = true;
    const { queue, times } = this.#context;
    try {
      const kept = await queue.identity.keep(this.#claimed.queueId, this.#claimed.warehouseId, times.staleAfterMs);
      if (kept.queueId !== this.#claimed.queueId || kept.warehouseId !== this.#claimed.warehouseId)
        this.#lose(new TakenOverError());
    } catch {
      // The next beat may reach Redis.
    } finally {
      this.#isKeeping = false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.signal.aborted) await this.#context.work?.prepareEnd();
    await this.#end();
    await this.#context.work?.end();
  }

  async #end(): Promise<void> {
    this.#isEnded = true;
    clearInterval(this.#timer);
    // A beat that has to look into the warehouse waits while another program holds it.
    await Promise.race([this.#beating, sleep(releaseMs, { ref: false })]);
    const { ledger, queue } = this.#context;
    if (this.signal.aborted) {
      // A change of the service has no new queue that replaces the beat.
      await ledger.ownership.endBeat(this.#claimed.queueId, this.#claimed.epoch).catch(() => undefined);
      return;
    }
    // Without Redis nobody knows whether others work the queue; a beat that is left behind becomes stale.
    if (queue.isEnded) return;
    const isLast = queue
      .workers()
      .then((counts) => counts.every((entry) => entry.queue !== runsQueue || entry.workers === 0));
    const late = sleep(releaseMs, { ref: false }).then(() => false);
    // Leaves the beat to other workers of the queue; a beat that is left behind becomes stale.
    if (!(await Promise.race([isLast, late]).catch(() => false))) return;
    await ledger.ownership.endBeat(this.#claimed.queueId, this.#claimed.epoch).catch(() => undefined);
    await Promise.race([queue.identity.release(this.#claimed.warehouseId), sleep(releaseMs, { ref: false })]).catch(
      () => undefined,
    );
  }
}
