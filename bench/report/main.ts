/**
 * Shows what `npm run bench` measured: one table, the measurements as JSON, and the change since an earlier run. Arguments:
 * the measurements as lines of JSON, the file to write, and optionally that of the earlier run.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { compare } from './comparison.ts';
import { figuresOf, measurementSchema, type Measurement } from './measurement.ts';
import { changesTable, figuresTable } from './table.ts';

const documentSchema = z.object({
  measuredAt: z.iso.datetime(),
  node: z.string(),
  cores: z.number(),
  measurements: z.array(measurementSchema),
});

const [linesFile = '', outputFile = '', earlierFile] = process.argv.slice(2);
const lines = readFileSync(linesFile, 'utf8').split('\n').filter(Boolean);
const measurements: readonly Measurement[] = lines.map((line) => measurementSchema.parse(JSON.parse(line)));
const figures = measurements.map(figuresOf);
// Before the output is written: it may be the same file.
const earlier = earlierFile === undefined ? undefined : readDocument(earlierFile);

if (figures.length > 0) {
  const most = Math.max(...measurements.map(({ rounds }) => rounds.length));
  console.log(`\nMedian of ${most}; ratio: rate by that of the baseline, right before it in the same round.\n`);
  console.log(figuresTable(figures));
  writeDocument(outputFile);
  console.log(`\nWritten to ${outputFile}`);
}
if (earlier !== undefined) {
  console.log(`\nSince ${earlier.measuredAt}, of the ratios:\n`);
  console.log(changesTable(compare(earlier.measurements.map(figuresOf), figures)));
}

function readDocument(file: string): z.output<typeof documentSchema> {
  return documentSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

function writeDocument(file: string): void {
  const head = { measuredAt: new Date().toISOString(), node: process.version, cores: cpus().length };
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ ...head, measurements }, null, 1)}\n`);
}
