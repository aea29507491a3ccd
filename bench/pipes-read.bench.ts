/**
 * Reading generated pipes into request bodies: the reader of a push, which checks every cell, against csv-parse with
 * columns and JSON.stringify. WELLSYNC_BENCH_ROWS sets the number of pipes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Sample } from './report/measurement.ts';
import { generatePipes } from './support/generated-pipes.ts';
import { runBare } from './support/measured-command.ts';
import { Recorder, rounds } from './support/record.ts';

const rowCount = Number(process.env['WELLSYNC_BENCH_ROWS'] ?? 500_000);
const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-bench-'));
try {
  const file = path.join(folder, 'pipes.csv');
  await generatePipes(file, rowCount);
  const recorder = new Recorder();
  for (let round = 0; round < rounds; round += 1) {
    const baseline = await read('bare', file);
    const subject = await read('checked', file);
    recorder.add('pipes read', { unit: 'pipes', baseline: 'CSV and JSON' }, { baseline, subject });
  }
  recorder.finish();
} finally {
  await rm(folder, { recursive: true });
}

async function read(way: 'bare' | 'checked', file: string): Promise<Sample> {
  const { stdout, ...usage } = await runBare('read-pipes', [way, file]);
  const { rows } = z.object({ rows: z.literal(rowCount) }).parse(JSON.parse(stdout));
  return { ...usage, amount: rows };
}
