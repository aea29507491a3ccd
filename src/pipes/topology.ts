/** Decides what is odd about a network as a graph: pipes as edges, the two ends of a pipe as nodes (DESIGN.md section 4.3). */
import type { PipeItem } from './items.ts';
import { Parts } from './parts.ts';

/** How many there are, and the first few by name, in the order of the file. */
export interface Finding {
  readonly count: number;
  readonly first: readonly string[];
}

/** A set of pipes that are joined to each other and to nothing else. */
export interface NetworkPart {
  readonly network: string;
  /** Its first pipe in the file. */
  readonly firstPipe: string;
  readonly pipes: number;
}

/** Two pipes between the same two nodes are no fault: real networks have hundreds of such pairs. */
export interface TopologyReport {
  readonly pipes: number;
  readonly nodes: number;
  readonly networks: number;
  /** Pipes that stand in the file again, under the same ids; each further one counts. */
  readonly duplicates: Finding;
  /** Pipes whose two ends are the same node. */
  readonly selfLoops: Finding;
  /** Pipes with an end that names no node. */
  readonly openEnds: Finding;
  /** Nodes that only one pipe end touches: sources and sinks among them, and misspelt names. */
  readonly deadEnds: Finding;
  /** Parts beyond the first one of each network: what nothing joins to the rest. */
  readonly unconnectedParts: { readonly count: number; readonly first: readonly NetworkPart[] };
}

const shownCount = 10;

class Tally {
  count = 0;
  readonly first: string[] = [];

  add(name: string): void {
    this.count += 1;
    if (this.first.length < shownCount) this.first.push(name);
  }
}

/** A node or pipe by name; nodes of two networks are different ones. */
function named(network: string, id: string): string {
  return `${network}/${id}`;
}

/**
 * Takes items one by one and reports at any time. Memory grows with the nodes and pipes of the file alone: their ids and
 * some 60 bytes each. A pipe that comes again joins its nodes again.
 */
export class Topology {
  readonly #pipes = new Map<string, Set<string>>();
  readonly #parts = new Parts();
  readonly #duplicates = new Tally();
  readonly #selfLoops = new Tally();
  readonly #openEnds = new Tally();
  #pipeCount = 0;

  add(item: PipeItem): void {
    const { network, sourceId, upstream, downstream } = item;
    const name = named(network, sourceId);
    this.#pipeCount += 1;
    if (this.#isKnown(network, sourceId)) this.#duplicates.add(name);
    if (upstream === undefined || downstream === undefined) this.#openEnds.add(name);
    else if (upstream === downstream) this.#selfLoops.add(name);
    this.#parts.join(
      network,
      sourceId,
      [upstream, downstream].filter((end) => end !== undefined),
    );
  }

  report(): TopologyReport {
    const { nodeCount } = this.#parts;
    const deadEnds = new Tally();
    for (const [network, node] of this.#parts.deadEnds()) deadEnds.add(named(network, node));
    return {
      pipes: this.#pipeCount,
      nodes: nodeCount,
      networks: this.#pipes.size,
      duplicates: findingOf(this.#duplicates),
      selfLoops: findingOf(this.#selfLoops),
      openEnds: findingOf(this.#openEnds),
      deadEnds: findingOf(deadEnds),
      unconnectedParts: this.#unconnectedParts(),
    };
  }

  #unconnectedParts(): TopologyReport['unconnectedParts'] {
    const seen = new Set<string>();
    const first: NetworkPart[] = [];
    let count = 0;
    for (const part of this.#parts.parts()) {
      const isMain = !seen.has(part.network);
      seen.add(part.network);
      if (isMain) continue;
      count += 1;
      if (first.length < shownCount) first.push({ ...part, firstPipe: named(part.network, part.firstPipe) });
    }
    return { count, first };
  }

  #isKnown(network: string, sourceId: string): boolean {
    let ids = this.#pipes.get(network);
    if (ids === undefined) this.#pipes.set(network, (ids = new Set<string>()));
    if (ids.has(sourceId)) return true;
    ids.add(sourceId);
    return false;
  }
}

function findingOf({ count, first }: Tally): Finding {
  return { count, first };
}
