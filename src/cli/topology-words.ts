/** Decides how the topology of a network reads: a sentence for each thing that is odd, with the first few by name. Pure. */
import type { Finding, TopologyReport } from '../pipes/topology.ts';
import { counted } from './words.ts';

/** The first one says what the network is; it is the only one where nothing is odd. */
export function topologySentences(report: TopologyReport): readonly string[] {
  const { unconnectedParts } = report;
  const parts = unconnectedParts.first.map(({ firstPipe, pipes }) => `${firstPipe} with ${counted(pipes, 'pipe')}`);
  return [
    `the topology: ${counted(report.pipes, 'pipe')}, ${counted(report.nodes, 'node')}, ${counted(report.networks, 'network')}`,
    ...sentence(report.duplicates, 'pipe that stands there again', 'pipes that stand there again'),
    ...sentence(report.selfLoops, 'pipe from a node to itself', 'pipes from a node to itself'),
    ...sentence(report.openEnds, 'pipe with an end that names no node', 'pipes with an end that names no node'),
    ...sentence(report.deadEnds, 'node at which a single pipe ends', 'nodes at which a single pipe ends'),
    ...sentence(
      { count: unconnectedParts.count, first: parts },
      'part that nothing joins to the rest of its network',
      'parts that nothing joins to the rest of their network',
    ),
  ];
}

function sentence({ count, first }: Finding, one: string, many: string): readonly string[] {
  if (count === 0) return [];
  return [`${counted(count, one, many)}: ${first.join(', ')}${count > first.length ? ', …' : ''}`];
}
