/**
 * The export of 2,000 wells of five years, 3.65 million rows, against that of 200 in the same run: rows a second and the
 * peak of memory, which both stay as they are for the small one. WELLSYNC_BENCH_WELLS sets the wells of the large field; the
 * small one has a tenth of them.
 */
import { z } from 'zod';
import type { Sample } from './report/measurement.ts';
import { ExportBench } from './support/export-rounds.ts';
import { Recorder, rounds } from './support/record.ts';

const { WELLSYNC_BENCH_WELLS: wells } = z
  .object({ WELLSYNC_BENCH_WELLS: z.coerce.number().int().min(10).default(2_000) })
  .parse(process.env);
const days = 1_826;

const recorder = new Recorder();
for (let round = 0; round < rounds; round += 1) {
  const baseline = await exportOf(Math.round(wells / 10));
  const subject = await exportOf(wells);
  recorder.add('export cold, ten times the wells', { unit: 'rows', baseline: 'export cold' }, { baseline, subject });
  const peaks = [baseline, subject].map(({ peakMegabytes }) => `${Math.round(peakMegabytes ?? 0)} MB`);
  console.log(`export of ${wells} wells: peak memory ${peaks.join(' small, ')} large`);
}
recorder.finish();

async function exportOf(wellCount: number): Promise<Sample> {
  await using bench = await ExportBench.start({ wells: wellCount, days });
  const { subject } = await bench.whole(await bench.warehouse('cold'), { inserted: bench.rows });
  return subject;
}
