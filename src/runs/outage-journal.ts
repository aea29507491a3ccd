/**
 * The outages that a process meets, in the log: a line when one begins, lines at growing intervals while it lasts, and
 * one when it is over. An outage of an hour is eight lines, however many calls fail in it.
 */
import type { Logger } from 'pino';
import { nextLineMs, type OutagePart, type OutageRecord } from '../core/base/errors.ts';
import { roughDurationText } from '../core/base/text.ts';

/** A part that fails again this soon is in the same trouble: a disk with room for small commits only, for example. */
const sameTroubleMs = 60_000;

/** An outage that nothing has met for this long may be over without anybody having noticed. */
const staleMs = 90_000;

const names: Readonly<Record<OutagePart, string>> = {
  redis: 'Redis',
  warehouse: 'the warehouse',
  service: 'the service',
  disk: 'the disk',
  files: 'the place of the shared files',
};

type Trouble = ReturnType<typeof beginning>;

function beginning(nowMs: number) {
  return {
    /** Of the trouble, over short recoveries. */
    beganAtMs: nowMs,
    /** Of the present outage. */
    downSinceMs: nowMs,
    lastDownMs: nowMs,
    lineAtMs: nowMs,
    endedAtMs: undefined as number | undefined,
    /** Whether its end has to be told: the last line was of its beginning. */
    isLoggedDown: false,
    reason: '',
  };
}

export class OutageJournal implements OutageRecord {
  readonly #log: Pick<Logger, 'warn' | 'info'>;
  readonly #now: () => number;
  readonly #troubles = new Map<OutagePart, Trouble>();

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(log: Pick<Logger, 'warn' | 'info'>, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  down(part: OutagePart, reason: string): number {
    const now = this.#now();
    const trouble = this.#begunOrGoingOn(part, now);
    if (trouble.endedAtMs !== undefined) trouble.downSinceMs = now;
    trouble.endedAtMs = undefined;
    trouble.lastDownMs = now;
    trouble.reason = reason;
    if (now >= trouble.lineAtMs) this.#logTrouble(part, trouble, now);
    return now - trouble.downSinceMs;
  }

  up(part: OutagePart): void {
    const trouble = this.#troubles.get(part);
    if (trouble === undefined || trouble.endedAtMs !== undefined) return;
    const now = this.#now();
    trouble.endedAtMs = now;
    if (!trouble.isLoggedDown) return;
    trouble.isLoggedDown = false;
    this.#log.info({ part, after: roughDurationText(now - trouble.beganAtMs) }, `${names[part]} can be used again`);
  }

  /** The outages that last, the longest first. */
  lasting() {
    const now = this.#now();
    const lasting = [...this.#troubles].flatMap(([part, { endedAtMs, downSinceMs, lastDownMs, reason }]) =>
      endedAtMs === undefined && now - lastDownMs < staleMs ? [{ part, forMs: now - downSinceMs, reason }] : [],
    );
    return lasting.toSorted((left, right) => right.forMs - left.forMs);
  }

  #begunOrGoingOn(part: OutagePart, now: number): Trouble {
    const known = this.#troubles.get(part);
    const isSame = known !== undefined && (known.endedAtMs === undefined || now - known.endedAtMs < sameTroubleMs);
    if (isSame) return known;
    const begun = beginning(now);
    this.#troubles.set(part, begun);
    return begun;
  }

  #logTrouble(part: OutagePart, trouble: Trouble, now: number): void {
    const elapsedMs = now - trouble.beganAtMs;
    trouble.lineAtMs = trouble.beganAtMs + nextLineMs(elapsedMs);
    trouble.isLoggedDown = true;
    const fields = { part, because: trouble.reason };
    if (elapsedMs < sameTroubleMs) this.#log.warn(fields, `work waits for ${names[part]}`);
    else this.#log.warn({ ...fields, since: roughDurationText(elapsedMs) }, `work still waits for ${names[part]}`);
  }
}
