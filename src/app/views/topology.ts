/** The topology of a network in sentences: one for each irregularity, with the first few examples by name. */
import type { Finding, TopologyReport } from '../../pipes/topology.ts';
import { counted } from '../../core/base/text.ts';

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
