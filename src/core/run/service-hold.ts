/** The hold that a Retry-After of the service puts on the requests of all workers (G9). */
import { ServiceHoldError, TransientError } from '../base/errors.ts';
import { instantText, roughDurationText } from '../base/text.ts';

/** Instants in milliseconds since 1970, by the clock of the queue. */
export interface ServiceHold {
  /** No request is sent before: the time that the service asked for, but at most `queue.maxHoldMs` after its answer. */
  readonly untilMs: number;
  /** Milliseconds until then when the hold was read. */
  readonly leftMs: number;
  /** The time that the service asked for. */
  readonly askedUntilMs: number;
  /**
   * The service asked for more than `queue.maxHoldMs`, by one answer or by several in a row: units end as
   * `service-hold` instead of waiting.
   */
  readonly isTooLong: boolean;
}

/** `the service asked all to wait until 2026-03-01 02:15:00Z`, and what follows where that is too long. */
export function holdText({
  askedUntilMs,
  untilMs,
  isTooLong,
}: Pick<ServiceHold, 'askedUntilMs' | 'untilMs' | 'isTooLong'>): string {
  const asked = `the service asked all to wait until ${instantText(askedUntilMs)}`;
  if (!isTooLong) return asked;
  const excess = askedUntilMs > untilMs ? 'longer than' : 'and its waits in a row exceed';
  return `${asked}, ${excess} queue.maxHoldMs: no request is sent before ${instantText(untilMs)}`;
}

/** The error of a request that does not wait for the end of a hold. */
export function heldBack(hold: ServiceHold): ServiceHoldError {
  return new ServiceHoldError(holdText(hold), {
    hint: `Requests go again in ${roughDurationText(hold.leftMs)}, at ${instantText(hold.untilMs)}.`,
    action: { kind: 'release-service' },
  });
}

/** A hold is told again after this long, whatever came between. */
const logAgainMs = 600_000;

/** Decides which holds are worth a line in the log: one for each, and one in ten minutes where many follow. */
export class LoggedHolds {
  #logged: { readonly atMs: number; readonly hold: ServiceHold } | undefined;

  /** Whether to tell this hold; `nowMs` is of any clock that never goes back. */
  isNews(hold: ServiceHold, nowMs: number): boolean {
    const logged = this.#logged;
    const isNews =
      logged === undefined ||
      nowMs - logged.atMs >= logAgainMs ||
      (hold.isTooLong && !logged.hold.isTooLong) ||
      hold.untilMs - logged.hold.untilMs >= logAgainMs;
    if (isNews) this.#logged = { atMs: nowMs, hold };
    return isNews;
  }
}

// The outage of the service for which the circuit holds back the requests of all workers (docs/design.md section 5).

/** Instants in milliseconds since 1970, by the clock of the queue. */
export interface ServiceOutage {
  /** When the circuit opened. */
  readonly sinceMs: number;
  /** Milliseconds since then when the outage was read. */
  readonly forMs: number;
  /** Milliseconds until one request may try again. */
  readonly nextTryMs: number;
  /** What the last request that tried met, fit for messages. */
  readonly fault: string;
}

/** `the service is down since 2026-03-01 02:15:00Z, and all requests wait: GET /… answered 503`. */
export function outageText({ sinceMs, fault }: Pick<ServiceOutage, 'sinceMs' | 'fault'>): string {
  return `the service is down since ${instantText(sinceMs)}, and all requests wait: ${fault}`;
}

/** The error of a request that does not wait for the end of an outage. */
export function notSent(outage: ServiceOutage): TransientError {
  const inText = outage.nextTryMs < 1_000 ? 'now' : `in ${roughDurationText(outage.nextTryMs)}`;
  return new TransientError('service-down', outageText(outage), {
    serviceDown: true,
    hint: `See whether it is up. One request tries ${inText}; work goes on by itself at its first answer.`,
    action: { kind: 'release-service' },
  });
}
