/** Reads files of pipes that tests write. */
import { Readable } from 'node:stream';
import type { PipeItem, RejectedRow } from '../../src/pipes/items.ts';
import { describeReject } from '../../src/pipes/items.ts';
import { readPipes, type PipeBatch, type ReadPipesOptions } from '../../src/pipes/read-pipes.ts';
import { Topology, type TopologyReport } from '../../src/pipes/topology.ts';

export const tenColumns =
  'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness';

export interface ReadText {
  readonly items: readonly PipeItem[];
  readonly bodies: readonly unknown[];
  readonly rejected: readonly RejectedRow[];
  /** The rejects, a sentence each. */
  readonly faults: readonly string[];
  readonly form: PipeBatch['form'];
  readonly header: PipeBatch['header'];
}

/** The report on all items of a file. */
export function topologyOf(items: readonly PipeItem[]): TopologyReport {
  const topology = new Topology();
  for (const item of items) topology.add(item);
  return topology.report();
}

/** Reads a text, or bytes, as `the file`. */
export async function readText(content: string | Buffer, options: ReadPipesOptions = {}): Promise<ReadText> {
  const batches: PipeBatch[] = [];
  const source = { stream: Readable.from([Buffer.from(content)]), name: 'the file' };
  for await (const batch of readPipes(source, options)) batches.push(batch);
  const entries = batches.flatMap((batch) => batch.entries);
  const items = entries.filter((entry) => entry.kind === 'item');
  const rejected = entries.flatMap((entry) => (entry.kind === 'rejected' ? entry.rows : []));
  const last = batches.at(-1);
  if (last === undefined) throw new Error('a reading gives one batch at least');
  return {
    items,
    bodies: items.map(({ body }): unknown => JSON.parse(body)),
    rejected,
    faults: rejected.map(describeReject),
    form: last.form,
    header: last.header,
  };
}
