/** Waits for a lease, of all processes together, and with it for a time of sending. */
import type { ServiceHold } from '../../core/run/service-hold.ts';
import { orAbort, pause } from './abortable-wait.ts';
import type { Admission, AdmissionAnswer } from './admission.ts';
import { Door } from './door.ts';
import { lookDelayMs } from './look-delay.ts';

/** How often Redis is asked for a lease although all seem taken: only that drops the leases of dead workers. */
const askAgainMs = 2_500;

/** How often a process under a hold looks whether it was lifted. */
const lookAtHoldMs = 2_000;

/** How long a process lets others go first after it heard that they wait. */
const yieldMs = 1_000;

/** Leave to send, at a time by the clock of performance.now(). */
export interface Leave {
  readonly kind: 'leave';
  readonly dueAtMs: number;
}

type Refusal = Exclude<AdmissionAnswer, { readonly kind: 'granted' }>;

export class Turnstile {
  readonly #admission: Admission;
  readonly #onHold: (hold: ServiceHold) => void;
  readonly #stopping: AbortSignal;
  /** Those who were refused: only the first of them asks Redis again. */
  readonly #line = new Door(1);
  #yieldUntilMs = -Infinity;
  /** The shortest time in which Redis answered: what an answer takes beyond it is the lateness of this process. */
  #answerMs = Infinity;

  /**
   * `onHold` is called for each hold that is met; what it throws ends the wait. `stopping` ends the waits for the end of
   * a hold, with AbortedError, and no others.
   */
  constructor(
    admission: Admission,
    { onHold, stopping }: { readonly onHold: (hold: ServiceHold) => void; readonly stopping: AbortSignal },
  ) {
    this.#admission = admission;
    this.#onHold = onHold;
    this.#stopping = stopping;
  }

  /** Takes the lease `token`. Throws AbortedError when the signal aborts; the lease may have been taken then. */
  async pass(token: string, signal: AbortSignal): Promise<Leave> {
    if (performance.now() < this.#yieldUntilMs) await pause(lookDelayMs(0, Math.random()), signal);
    if (this.#line.isFree) {
      const answer = await this.#ask(token, signal);
      if (answer.kind === 'leave') return answer;
    }
    const leaveLine = await this.#line.enter(signal);
    try {
      return await this.#passAsFirst(token, signal);
    } finally {
      leaveLine();
    }
  }

  async #passAsFirst(token: string, signal: AbortSignal): Promise<Leave> {
    for (let isAgain = false; ; isAgain = true) {
      const answer = await this.#ask(token, signal);
      if (answer.kind === 'leave') return answer;
      await this.#waitAfter(answer, isAgain, signal);
    }
  }

  async #ask(token: string, signal: AbortSignal): Promise<Leave | Refusal> {
    const askedAtMs = performance.now();
    const answer = await orAbort(this.#admission.ask(token), signal);
    if (answer.kind !== 'granted') return answer;
    this.#answerMs = Math.min(this.#answerMs, performance.now() - askedAtMs);
    if (answer.othersWait) this.#yieldUntilMs = performance.now() + yieldMs;
    return { kind: 'leave', dueAtMs: askedAtMs + this.#answerMs + answer.waitMs };
  }

  async #waitAfter(refusal: Refusal, isAgain: boolean, signal: AbortSignal): Promise<void> {
    if (refusal.kind === 'full') return this.#waitForRoom(isAgain, signal);
    if (refusal.kind === 'far') return pause(refusal.delayMs, signal);
    this.#onHold(refusal.hold);
    return pause(Math.min(refusal.hold.leftMs + 1, lookAtHoldMs), AbortSignal.any([signal, this.#stopping]));
  }

  /** Ends when a lease seems to be free, and after a while at the latest. */
  async #waitForRoom(isAgain: boolean, signal: AbortSignal): Promise<void> {
    const endsAtMs = performance.now() + askAgainMs;
    // Who has been refused before has waited long enough to look seldom.
    const looksBefore = isAgain ? 4 : 0;
    for (let look = looksBefore; performance.now() < endsAtMs; look += 1) {
      await pause(lookDelayMs(look, Math.random()), signal);
      if (await orAbort(this.#admission.hasRoom(), signal)) return;
    }
  }
}
