/** How far wells lag behind and how many are stale, measured after runs by the process that works the warehouse. */
import type { Logger } from 'pino';
import type { MetricName } from '../../core/metrics/metrics.ts';
import { seriesOf } from '../../core/metrics/totals.ts';
import { sleep } from '../../timers/sleep.ts';
import type { App } from '../app.ts';
import { staleWells } from '../requests/well-states.ts';

/** An instant in Redis: a scrape shows its age as the lag. */
export const watermarkSeries = 'wellsync_watermark_timestamp_seconds';

const staleSeries: MetricName = 'wellsync_stale_wells';

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
    const { metrics } = await app.queue('lasting');
    await metrics.set(new Map([[seriesOf(staleSeries, {}), stale.length], ...(reached ?? [])]));
  } catch (error) {
    log.debug({ because: String(error) }, 'the freshness of wells could not be measured');
  }
}

/** Measures after runs that ended in this process. */
export class FreshnessMeter {
  #isDue = true;

  noteRunEnd(): void {
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
