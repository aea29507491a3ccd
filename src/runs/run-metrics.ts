/** What the end of a run adds to the metrics of all processes (docs/design.md section 11). */
import type { MetricName } from '../core/metrics/metrics.ts';
import { seriesOf, Totals } from '../core/metrics/totals.ts';
import { outcomesOf, type JobDescription } from '../core/run/job-description.ts';
import type { RunReport } from '../core/run/run.ts';
import type { MetricStore } from '../queue/port.ts';

const lastSuccess: MetricName = 'wellsync_last_success_timestamp_seconds';

/**
 * Counts the end of a run, once for each of its generations, however often and by whomever it is called; its rows once
 * over all of them, since a retry reports the sum of all.
 */
export async function countRunEnd(
  report: RunReport,
  generation: number,
  job: Pick<JobDescription, 'counts'>,
  store: MetricStore,
): Promise<void> {
  const { runId, job: name, state, counts, startedAtMs, finishedAtMs } = report;
  const labels = { job: name };
  const end = new Totals();
  end.add('wellsync_runs_total', { ...labels, state });
  end.observe('wellsync_run_seconds', labels, (finishedAtMs - startedAtMs) / 1000);
  await store.raise(`run:${runId}:${generation}`, end.takeChanged());
  const rows = new Totals();
  for (const outcome of outcomesOf(job.counts)) {
    rows.add('wellsync_rows_total', { ...labels, outcome }, counts[outcome] ?? 0);
  }
  await store.raise(`rows:${runId}`, rows.takeChanged());
  if (state === 'done') await store.set(new Map([[seriesOf(lastSuccess, labels), finishedAtMs / 1000]]));
}
