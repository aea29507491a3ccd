/** Looks through a file of pipes as a push would, and sends nothing: counts, rejects file, notices, and the topology. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { SliceCutter } from '../core/pipe-slices.ts';
import { startOfPush, type PushCheckpoint } from '../core/push-checkpoint.ts';
import type { Counts } from '../core/run.ts';
import type { PipeSource } from '../pipes/content.ts';
import type { PipeHeader } from '../pipes/header.ts';
import type { PipeItem, RejectedRows } from '../pipes/items.ts';
import { pipeFiles } from '../pipes/pipe-files.ts';
import { readPipes, type PipeBatch, type ReadPipesOptions } from '../pipes/read-pipes.ts';
import { RejectsFile } from '../pipes/rejects-file.ts';
import { Topology, type TopologyReport } from '../pipes/topology.ts';
import { checkpointAfter, passedSlice, type FileSlice } from '../runs/push/passed-slices.ts';
import { fileNotices } from '../runs/push/push-notices.ts';

export interface LookOptions {
  readonly reading: ReadPipesOptions;
  readonly chunkItems: number;
  readonly chunkBytes: number;
  /** Written where anything is rejected, in a folder that is made. */
  readonly rejectsFile: string;
  readonly withTopology: boolean;
}

export interface PipesLook {
  /** rows = sendable + superseded + rejectedByUs; and `pipes`, the items that would be sent. */
  readonly counts: Counts;
  /** Undefined where nothing was rejected. */
  readonly rejectsFile: string | undefined;
  readonly notices: readonly string[];
  readonly topology: TopologyReport | undefined;
}

/**
 * Reads the source to its end. Throws UsageError where it cannot be read as a whole; rejects before that are in the file,
 * and AbortedError on the signal of the reading.
 */
export async function lookThroughPipes(source: PipeSource, options: LookOptions): Promise<PipesLook> {
  const { chunkItems: maxItems, chunkBytes: maxBytes, rejectsFile } = options;
  await mkdir(path.dirname(rejectsFile), { recursive: true });
  await using rejects = await RejectsFile.open(rejectsFile, 0);
  const cutter = new SliceCutter<PipeItem, RejectedRows>(() => ({ maxItems, maxBytes }));
  const topology = options.withTopology ? new Topology() : undefined;
  let found = startOfPush;
  let last: PipeBatch | undefined;
  for await (const batch of readPipes(source, options.reading)) {
    for (const entry of batch.entries) {
      if (entry.kind === 'item') topology?.add(entry);
      const slice = entry.kind === 'item' ? cutter.add(entry) : cutter.reject(entry);
      found = await withSlice(found, slice, batch.header, rejects);
    }
    last = batch;
  }
  if (last === undefined) throw new Error('a reading gives one batch at least');
  found = await withSlice(found, cutter.flush(), last.header, rejects);
  return {
    counts: countsOf(found.counts),
    rejectsFile: found.rejectsBytes === 0 ? undefined : rejectsFile,
    notices: fileNotices(last.header, last.form, found),
    topology: topology?.report(),
  };
}

/** As if the service had taken everything. */
async function withSlice(
  found: PushCheckpoint,
  slice: FileSlice | undefined,
  header: PipeHeader,
  rejects: RejectsFile,
): Promise<PushCheckpoint> {
  if (slice === undefined) return found;
  const passed = passedSlice(slice, { accepted: slice.items, refused: [], failed: [], requests: 0 }, header, pipeFiles);
  const rejectsBytes = await rejects.append(passed.rejects, header);
  return checkpointAfter(found, [passed], rejectsBytes, pipeFiles);
}

function countsOf({ rows = 0, accepted = 0, superseded = 0, rejectedByUs = 0, pipes = 0 }: Counts): Counts {
  return { rows, sendable: accepted, superseded, rejectedByUs, pipes };
}
