import { randomUUID } from 'node:crypto';
import { Totals } from '../../core/run/metrics.ts';
import type { MetricStore } from '../../queue/port.ts';
import type { SentRequest } from '../../service/request-layer.ts';
import { sleep } from '../../timers/sleep.ts';

/** Counts the requests of this process, and reports the totals to the metrics of all (docs/design.md section 11). */
const reportEveryMs = 5_000;

/** How long the end of a process waits for Redis. */
const lastReportMs = 1_000;

export class RequestMeter {
  readonly #openStore: () => Promise<MetricStore>;
  readonly #source = `process:${randomUUID()}`;
  readonly #totals = new Totals();
  readonly #closing = new AbortController();
  #reporting: Promise<void> | undefined;

  /** `openStore` is called for the first request. */
  constructor(openStore: () => Promise<MetricStore>) {
    this.#openStore = openStore;
  }

  record({ endpoint, outcome, elapsedMs }: SentRequest): void {
    this.#totals.add('wellsync_requests_total', { endpoint, outcome });
    this.#totals.observe('wellsync_request_seconds', { endpoint }, elapsedMs / 1000);
    this.#reporting ??= this.#keepReporting();
  }

  /** Reports what is left, where Redis answers soon. A process that is killed loses its last few seconds. */
  async close(): Promise<void> {
    this.#closing.abort();
    const last = this.#reporting?.then(async () => this.#report());
    await Promise.race([last, sleep(lastReportMs, { ref: false })]);
  }

  async #keepReporting(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await sleep(reportEveryMs, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.#report();
    }
  }

  /** Metrics never fail work: what cannot be reported goes with the next report. */
  async #report(): Promise<void> {
    const changed = this.#totals.takeChanged();
    try {
      await (await this.#openStore()).raise(this.#source, changed);
    } catch {
      this.#totals.giveBack(changed.keys());
    }
  }
}
