/**
 * The export of daily production against a bare loop (GET, JSON.parse and a count; the same pages, the same concurrency),
 * each as a whole command, from its start to its end. `wellsync export daily-production --inline` adds checks, queue,
 * merge, history, coverage and ledger. Every subject of a round has a bare loop of its own right before it.
 * WELLSYNC_BENCH_WELLS and WELLSYNC_BENCH_DAYS set the size.
 */
import { z } from 'zod';
import { ExportBench } from './support/export-rounds.ts';
import { Recorder, rounds } from './support/record.ts';

const { WELLSYNC_BENCH_WELLS: wells, WELLSYNC_BENCH_DAYS: days } = z
  .object({
    WELLSYNC_BENCH_WELLS: z.coerce.number().int().positive().default(200),
    WELLSYNC_BENCH_DAYS: z.coerce.number().int().positive().default(1_826),
  })
  .parse(process.env);
const latencyMs = 20;
/** Every hundredth row changes. */
const changeEvery = 100;

const recorder = new Recorder();
const whole = { unit: 'rows', baseline: 'GET and parse' };
const morning = { unit: 'wells', baseline: 'GET and parse' };

await measureField();
await measureMornings();
recorder.finish();

async function measureField(): Promise<void> {
  await using bench = await ExportBench.start({ wells, days });
  const { rows: inserted, service } = bench;
  const updated = wells * Math.ceil(days / changeEvery);
  for (let round = 0; round < rounds; round += 1) {
    const kept = await bench.warehouse('kept');
    recorder.add('export cold', whole, await bench.whole(kept, { inserted }));
    recorder.add('export again, nothing changed', whole, await bench.again(kept, {}));
    await service.tell({ changeEvery });
    recorder.add('export again, 1 % changed', whole, await bench.again(kept, { updated }));
    await service.tell({ latencyMs });
    recorder.add(`export cold, ${latencyMs} ms`, whole, await bench.whole(await bench.warehouse('far'), { inserted }));
    await service.tell({ latencyMs: 0, gzip: true });
    const packed = await bench.warehouse('packed');
    recorder.add(
      'export cold, gzip',
      { ...whole, baseline: 'GET, unpack, parse' },
      await bench.whole(packed, { inserted }, 'gzip'),
    );
    await service.tell({ gzip: false });
  }
}

/** Each starts from a copy of the warehouse of a first export. Three in ten wells of a field have been silent for ten years. */
async function measureMornings(): Promise<void> {
  await using live = await ExportBench.start({ wells, days });
  await using silent = await ExportBench.start({ wells, days, silentShare: 0.3 });
  const fields = [];
  for (const [subject, bench] of Object.entries({ 'next morning': live, 'next morning, 30 % silent': silent })) {
    const filled = await bench.warehouse('filled');
    await bench.whole(filled, { inserted: bench.rows });
    fields.push({ subject, bench, filled });
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const { subject, bench, filled } of fields) {
      recorder.add(subject, morning, await bench.morning(await bench.warehouse('morning', filled)));
    }
  }
}
