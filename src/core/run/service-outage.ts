/** The outage of the service for which the circuit holds back the requests of all workers (docs/design.md section 5). */
import { TransientError } from '../base/errors.ts';
import { instantText, roughDurationText } from '../base/text.ts';

/** Instants in milliseconds since 1970, by the clock of Redis. */
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
export function outageText({ sinceMs, fault }: ServiceOutage): string {
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
