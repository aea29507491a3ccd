/**
 * How far wells lag behind, how many are stale and what alerts are open, measured after runs by the process that works the
 * warehouse; by a command without Redis while it works.
 */
import type { Logger } from 'pino';
import { type AlertKind, alertKinds, severities } from '../../core/alerts/kinds.ts';
import { type MetricName, seriesOf } from '../../core/run/metrics.ts';
import { sleep } from '../../timers/sleep.ts';
import type { OpenAlerts } from '../../warehouse/port/alerts.ts';
import type { App } from '../app.ts';
import { staleWells } from '../wells/coverage.ts';

/** An instant in Redis: a scrape shows its age as the lag. */
export const watermarkSeries = 'wellsync_watermark_timestamp_seconds';

const staleSeries: MetricName = 'wellsync_stale_wells';

const alertSeries: MetricName = 'wellsync_open_alerts';

const quantiles = ['0.5', '0.9', '0.99'] as const;

/** At most so often, however many runs end. */
const measureEveryMs = 30_000;

/** Measures, and gives the gauges to the metrics of all processes. Never fails a run. */
export async function measureFreshness(app: App, log: Logger): Promise<void> {
  try {
    const nowMs = Date.now();
    const stale = await staleWells(app, { nowMs });
    const watermarks = await app.warehouse.coverage.reachedWatermarks(quantiles.map(Number));
    const reached = watermarks?.map(
      (watermarkMs, index) =>
        [seriesOf(watermarkSeries, { quantile: quantiles[index] ?? '' }), watermarkMs / 1000] as const,
    );
    const open = await app.ledger.alerts.countOpen(nowMs);
    const queue = await app.queue('lasting');
    const gauges = [[seriesOf(staleSeries, {}), stale.length] as const, ...(reached ?? []), ...openAlerts(open)];
    await queue.metrics.set(new Map(gauges));
  } catch (error) {
    log.debug({ because: String(error) }, 'the freshness of wells could not be measured');
  }
}

/** Of every kind and severity: one that is gone is 0. */
function openAlerts(open: readonly OpenAlerts[]): ReadonlyArray<readonly [series: string, value: number]> {
  const kinds = Object.keys(alertKinds) as readonly AlertKind[];
  return kinds.flatMap((kind) =>
    severities.map((severity) => {
      const found = open.find((each) => each.kind === kind && each.severity === severity);
      return [seriesOf(alertSeries, { kind, severity }), found?.alerts ?? 0] as const;
    }),
  );
}

/** Measures after runs that ended in this process. */
export class FreshnessMeter {
  #isDue = true;

  recordRunEnd(): void {
    this.#isDue = true;
  }

  async keep(app: App, log: Logger, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(measureEveryMs, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      if (!this.#isDue) continue;
      this.#isDue = false;
      await measureFreshness(app, log);
    }
  }
}
