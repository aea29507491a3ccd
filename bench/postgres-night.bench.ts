/**
 * The next morning of 20,000 wells in a PostgreSQL warehouse, 7 days of each and the new one, against the bare loop over
 * the same days (bench/export.bench.ts). `CPU us` has the server in it. WELLSYNC_BENCH_WELLS sets the number of wells.
 */
import { z } from 'zod';
import { benchPostgres } from './support/bench-postgres.ts';
import { ExportBench } from './support/export-rounds.ts';
import { Recorder, rounds } from './support/record.ts';

const { WELLSYNC_BENCH_WELLS: wells } = z
  .object({ WELLSYNC_BENCH_WELLS: z.coerce.number().int().positive().default(20_000) })
  .parse(process.env);
/** Of the field before: more than the lookback. */
const days = 14;
/** Without days to look for: the field begins later than those that a morning looks at. */
const config = 'export: { holeDays: 0 }\n';

await using postgres = await benchPostgres();
const recorder = new Recorder();
await using bench = await ExportBench.start({ wells, days, config });
const place = await bench.warehouse('night');
const filled = { ...place, url: await postgres.database('filled') };
await bench.whole(filled, { inserted: bench.rows });
for (let round = 0; round < rounds; round += 1) {
  const night = { ...place, url: await postgres.database('night', 'filled') };
  const beganSeconds = postgres.spentSeconds();
  const { baseline, subject } = await bench.morning(night);
  const serverSeconds = postgres.spentSeconds() - beganSeconds;
  const cpuSeconds = subject.cpuSeconds + serverSeconds;
  recorder.add(
    'PostgreSQL, next morning',
    { unit: 'wells', baseline: 'GET and parse' },
    { baseline, subject: { ...subject, cpuSeconds } },
  );
  console.log(
    `morning of ${wells} wells: ${bench.counts['requests']} requests, ${bench.counts['read']} rows, ` +
      `${subject.seconds.toFixed(1)} s, CPU ${subject.cpuSeconds.toFixed(1)} s and ${serverSeconds.toFixed(1)} s of PostgreSQL`,
  );
}
recorder.finish();
