/**
 * The requests of a process that wait for a lease, of all processes together, and with it for a time of sending. One
 * question at a time asks the limits for all of them, by run. Between two questions it waits until a lease of this process is
 * freed, or until they say that it is its turn.
 */
import { AbortedError } from '../../core/base/errors.ts';
import type { ServiceHold, ServiceOutage } from '../../core/run/service-hold.ts';
import { after, sleep } from '../../timers/sleep.ts';
import { type Admission, type AdmissionAnswer, type Grant, inTheWayMs } from './admission.ts';

/** How often the limits are asked for a lease although all are taken: only that drops the leases of dead workers. */
const askAgainMs = 4_000;

/** How long to wait for another process whose turn it is, before it counts as dead. */
const turnOfOtherMs = inTheWayMs + 20;

/** How often a process under a hold looks whether it was lifted, and in an outage whether it is over. */
const pollMs = { hold: 2_000, outage: 1_000 } as const;

/** Processes that wait for the same moment ask within this time after it, not all at once. */
const spreadMs = 50;

/** Leave to send, at a time by the clock of performance.now(). */
export interface Leave {
  readonly token: string;
  readonly dueAtMs: number;
  /** When the limits were asked for the lease, which begins no earlier. */
  readonly askedAtMs: number;
}

interface Caller {
  readonly resolve: (leave: Leave) => void;
  readonly reject: (error: unknown) => void;
}

interface WaitQueueEvents {
  /** Called for each hold that is met; what it throws ends the waits. */
  readonly onHold: (hold: ServiceHold) => void;
  /** Called while the circuit is open; what it throws ends the waits. */
  readonly onOutage: (outage: ServiceOutage) => void;
  /** Called when requests go again that are more than one that tries. */
  readonly onUp: () => void;
  /** Ends the waits for the end of a hold or an outage, with AbortedError, and no others. */
  readonly stopping: AbortSignal;
}

export class WaitQueue {
  readonly #admission: Admission;
  readonly #events: WaitQueueEvents;
  readonly #callers = new Map<string, Caller[]>();
  #isServing = false;
  /** Ends the present pause; undefined while there is none. */
  #endPause: (() => void) | undefined;
  /** Whether something came about since the limits were asked that makes it worth to ask again. */
  #isWoken = false;
  #isFlushSoon = false;
  #isListening = false;
  /** The shortest time in which the limits answered: what an answer takes beyond it is the lateness of this process. */
  #answerMs = Infinity;

  constructor(admission: Admission, events: WaitQueueEvents) {
    this.#admission = admission;
    this.#events = events;
  }

  get isWaiting(): boolean {
    return this.#callers.size > 0;
  }

  /** Takes a lease for a request of a run. Throws AbortedError when the signal aborts. */
  pass(runId: string, signal: AbortSignal): Promise<Leave> {
    if (signal.aborted) return Promise.reject(new AbortedError());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#drop(runId, caller);
        reject(givenUp(signal.reason));
      };
      const ending =
        <T>(end: (result: T) => void) =>
        (result: T): void => {
          signal.removeEventListener('abort', leave);
          end(result);
        };
      const caller: Caller = { resolve: ending(resolve), reject: ending(reject) };
      signal.addEventListener('abort', leave, { once: true });
      this.#add(runId, caller);
    });
  }

  /** Gives a lease back. Whoever waits here asks for it by the same call. */
  release(token: string): void {
    this.#admission.giveBack(token);
    this.#wake();
    if (this.#isFlushSoon) return;
    this.#isFlushSoon = true;
    setImmediate(() => {
      this.#isFlushSoon = false;
      if (!this.#isServing) this.#admission.flush();
    });
  }

  #wake(): void {
    this.#isWoken = true;
    this.#endPause?.();
  }

  #add(runId: string, caller: Caller): void {
    const line = this.#callers.get(runId);
    if (line === undefined) this.#callers.set(runId, [caller]);
    else line.push(caller);
    if (!this.#isServing) void this.#serve();
    // A run that the limits do not know of yet; one that it knows waits for its turn.
    else if (line === undefined) this.#wake();
  }

  #drop(runId: string, caller: Caller): void {
    const line = this.#callers.get(runId) ?? [];
    const position = line.indexOf(caller);
    if (position >= 0) line.splice(position, 1);
    if (line.length > 0) return;
    this.#callers.delete(runId);
    this.#admission.giveUp(runId);
    if (this.#callers.size === 0) this.#wake();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#callers.size > 0) {
      // Those of this moment ask together, with the leases that it frees.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#callers.size === 0) break;
      try {
        await this.#askOnce();
      } catch (error) {
        this.#rejectAll(error);
      }
    }
    this.#isServing = false;
    this.#admission.flush();
  }

  async #askOnce(): Promise<void> {
    this.#isWoken = false;
    const askedAtMs = performance.now();
    const wanted = [...this.#callers].map(([runId, line]) => ({ runId, requests: line.length }));
    const answer = await this.#admission.ask(wanted);
    this.#answerMs = Math.min(this.#answerMs, performance.now() - askedAtMs);
    if (answer.kind === 'admitted') {
      for (const grant of answer.grants) this.#grant(grant, askedAtMs);
      if (!answer.isTrial) this.#events.onUp();
    }
    if (this.#callers.size > 0) await this.#waitAfter(answer);
  }

  /** A lease whose request was given up meanwhile goes back. */
  #grant({ runId, token, waitMs }: Grant, askedAtMs: number): void {
    const line = this.#callers.get(runId) ?? [];
    const caller = line.shift();
    if (line.length === 0) this.#callers.delete(runId);
    if (caller === undefined) this.release(token);
    else caller.resolve({ token, dueAtMs: askedAtMs + this.#answerMs + waitMs, askedAtMs });
  }

  async #waitAfter(answer: AdmissionAnswer): Promise<void> {
    if (answer.kind === 'paused') {
      this.#events.onHold(answer.hold);
      return this.#waitOut(Math.min(answer.hold.leftMs + 1, pollMs.hold));
    }
    if (answer.kind === 'open') {
      this.#events.onOutage(answer.outage);
      return this.#waitOut(Math.min(answer.outage.nextTryMs + 1 + spreadMs * Math.random(), pollMs.outage));
    }
    if (answer.reason === 'none') return;
    if (answer.reason === 'far') return this.#pause(answer.delayMs);
    void this.#listen();
    await this.#pause(answer.reason === 'turn' ? turnOfOtherMs : askAgainMs);
  }

  /** Waits for a hold or an outage, which work that stops has no use for. */
  async #waitOut(delayMs: number): Promise<void> {
    const { stopping } = this.#events;
    const stop = (): void => this.#wake();
    stopping.addEventListener('abort', stop, { once: true });
    if (!stopping.aborted) await this.#pause(delayMs);
    stopping.removeEventListener('abort', stop);
    if (stopping.aborted) throw givenUp(stopping.reason);
  }

  /** Wakes those who wait here when it is their turn. */
  async #listen(): Promise<void> {
    if (this.#isListening) return;
    this.#isListening = true;
    // Limits that do not answer meet the next question.
    await this.#admission.turn().then(
      () => this.#wake(),
      () => undefined,
    );
    this.#isListening = false;
  }

  #pause(delayMs: number): Promise<void> {
    if (this.#isWoken) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        this.#endPause = undefined;
        resolve();
      };
      const timer = after(delayMs, end);
      this.#endPause = end;
    });
  }

  #rejectAll(error: unknown): void {
    const callers = [...this.#callers.values()].flat();
    this.#callers.clear();
    for (const { reject } of callers) reject(error);
  }
}

/** Waits that end with an AbortedError when the signal aborts. */
function givenUp(cause: unknown): AbortedError {
  return new AbortedError('given up while waiting for leave to send', { cause });
}

export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, { signal }).catch((error: unknown) => {
    throw givenUp(error);
  });
}

/** A question cannot be aborted: the caller stops waiting, and the answer is dropped. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) reject(new AbortedError());
    const onAbort = (): void => reject(givenUp(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
