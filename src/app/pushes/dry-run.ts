/**
 * Dry run of a push: reads a file of pipes and sends nothing. Yields counts, rejects file, notices, and the topology.
 */
import { checkpointAfter, type PassedFileRows, rejectsOf } from '../../../jobs/network-pipes/checkpoint-writer.ts';
import { dryRunCounts } from '../../../jobs/network-pipes/counts.ts';
import {
  fileNotices,
  ImaginedPush,
  type ImaginedPushOptions,
  slowNotices,
  unevenNotices,
  versionNotices,
} from '../../../jobs/network-pipes/dry-run.ts';
import { counted } from '../../core/base/text.ts';
import { type PushCheckpoint, startOfPush } from '../../core/pipes/checkpoint.ts';
import { balanceOfCounts } from '../../core/run/balance.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import { type CountDescription, rejectedOf } from '../../core/run/job-description.ts';
import type { Balance, Counts } from '../../core/run/run.ts';
import type { PipeSource } from '../../pipes/content.ts';
import type { PipeHeader } from '../../pipes/header.ts';
import { localPipeFiles } from '../../pipes/pipe-files.ts';
import { type PipeBatch, readPipes, type ReadPipesOptions } from '../../pipes/read-pipes.ts';
import { RejectsFile } from '../../pipes/rejects-file.ts';
import { type Finding, Topology, type TopologyReport } from '../../pipes/topology.ts';

export interface DryRunOptions extends ImaginedPushOptions {
  readonly reading: ReadPipesOptions;
  /** Created, with its folder, if any row is rejected. */
  readonly rejectsFile: string;
  readonly withTopology: boolean;
}

export interface PipesDryRun {
  /** rows = sendable + superseded + rejectedByUs. `pipes`: the items that would be sent, in about `requests`. */
  readonly counts: Counts;
  /** Descriptions of the counts, in display order. */
  readonly described: readonly CountDescription[];
  readonly balance: Balance;
  readonly rows: number;
  readonly rejected: number;
  /** Undefined if nothing was rejected. */
  readonly rejectsFile: string | undefined;
  readonly notices: readonly string[];
  readonly topology: TopologyReport | undefined;
}

/**
 * Reads the source to its end. Throws UsageError for a source that cannot be read to the end, with the rejects so far
 * in the file, and AbortedError when the signal of the source aborts.
 */
export async function dryRunPipes(source: PipeSource, options: DryRunOptions): Promise<PipesDryRun> {
  const { pipeIdentity, rejectsFile } = options;
  await using rejects = await RejectsFile.open(rejectsFile, 0);
  const push = new ImaginedPush(options);
  const topology = options.withTopology ? new Topology() : undefined;
  let found = startOfPush;
  let last: PipeBatch | undefined;
  for await (const batch of readPipes(source, options.reading)) {
    for (const entry of batch.entries) {
      if (entry.kind === 'item') topology?.add(entry);
      push.take(entry);
    }
    found = await withPassed(found, push.takePassed(), batch.header, rejects);
    last = batch;
  }
  if (last === undefined) throw new Error('a reading gives one batch at least');
  push.end();
  found = await withPassed(found, push.takePassed(), last.header, rejects);
  const { versions, unevenLists, requests } = push;
  const counts = countsOf(found.counts, push);
  return {
    counts,
    described: dryRunCounts,
    balance: balanceOfCounts({ counts: dryRunCounts }, counts),
    rows: counts['rows'] ?? 0,
    rejected: rejectedOf({ counts: dryRunCounts }, counts),
    rejectsFile: found.rejectsBytes === 0 ? undefined : rejectsFile,
    notices: [
      ...fileNotices(last.header, last.form, found),
      ...versionNotices(versions, pipeIdentity),
      ...slowNotices(requests, push.fewestRequests, pipeIdentity),
      ...unevenNotices(unevenLists),
    ],
    topology: topology?.report(),
  };
}

async function withPassed(
  found: PushCheckpoint,
  passed: PassedFileRows | undefined,
  header: PipeHeader,
  rejects: RejectsFile,
): Promise<PushCheckpoint> {
  if (passed === undefined) return found;
  const rejectsBytes = await rejects.append(rejectsOf(passed), header);
  return checkpointAfter(found, passed, rejectsBytes, localPipeFiles);
}

function countsOf(
  { rows = 0, accepted = 0, superseded = 0, rejectedByUs = 0, pipes = 0 }: Counts,
  { versions, requests }: ImaginedPush,
): Counts {
  const { pipesWithSeveralDates } = versions;
  return { rows, sendable: accepted, superseded, rejectedByUs, pipes, pipesWithSeveralDates, requests };
}

/** JSON of a dry run of a push. */
export function dryRunDocument(file: string, dryRun: PipesDryRun, exitCode: ExitCode) {
  const { counts, balance, notices, rejectsFile, topology } = dryRun;
  return {
    file,
    dryRun: true,
    counts,
    balance,
    rejectsFile: rejectsFile ?? null,
    notices,
    topology: topology ?? null,
    exitCode,
  };
}

// The topology of a network in sentences: one for each irregularity, with the first few examples by name.

/** The first sentence describes the network; it is the only one if nothing is irregular. */
export function topologySentences(report: TopologyReport): readonly string[] {
  const { unconnectedParts } = report;
  const parts = unconnectedParts.first.map(({ firstPipe, pipes }) => `${firstPipe} with ${counted(pipes, 'pipe')}`);
  return [
    `the topology: ${counted(report.pipes, 'pipe')}, ${counted(report.nodes, 'node')}, ${counted(report.networks, 'network')}`,
    ...sentence(
      report.severalDates,
      'pipe with several dates, of which each is sent',
      'pipes with several dates, of which each is sent',
    ),
    ...sentence(
      report.duplicates,
      'pipe that stands there again under the same ids and date, of which the last row wins',
      'pipes that stand there again under the same ids and date, of which the last row wins',
    ),
    ...sentence(
      report.parallels,
      'pipe parallel to an earlier one, between the same two nodes',
      'pipes parallel to an earlier one, between the same two nodes',
    ),
    ...sentence(report.selfLoops, 'pipe from a node to itself', 'pipes from a node to itself'),
    ...sentence(report.openEnds, 'pipe with an end that names no node', 'pipes with an end that names no node'),
    ...sentence(report.deadEnds, 'node at which a single pipe ends', 'nodes at which a single pipe ends'),
    ...sentence(
      { count: unconnectedParts.count, first: parts },
      'part that nothing joins to the largest part of its network',
      'parts that nothing joins to the largest part of their network',
    ),
  ];
}

function sentence({ count, first }: Finding, one: string, many: string): readonly string[] {
  if (count === 0) return [];
  return [`${counted(count, one, many)}: ${first.join(', ')}${count > first.length ? ', …' : ''}`];
}
