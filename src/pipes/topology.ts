/** Checks a network as a graph, with pipes as edges and their ends as nodes (docs/design.md section 4.3). */
import type { PipeItem } from './items.ts';
import { Components } from './components.ts';

/** A count, and the names of the first few in the order of the file. */
export interface Finding {
  readonly count: number;
  readonly first: readonly string[];
}

/** A connected component: pipes joined to each other and to no other pipe. */
export interface NetworkComponent {
  readonly network: string;
  /** First pipe of the component in the file. */
  readonly firstPipe: string;
  readonly pipes: number;
}

export interface TopologyReport {
  readonly pipes: number;
  readonly nodes: number;
  readonly networks: number;
  /** Repeats of a pipe under the same ids; each repeat counts. */
  readonly duplicates: Finding;
  /** Pipes between two nodes that an earlier pipe joins already. No fault: real networks have hundreds. */
  readonly parallels: Finding;
  /** Pipes whose two ends are the same node. */
  readonly selfLoops: Finding;
  /** Pipes with an end that names no node. */
  readonly openEnds: Finding;
  /** Nodes with a single pipe end: sources and sinks, and misspelt names. */
  readonly deadEnds: Finding;
  /** Components beside the largest of each network, in the order of the file: not connected to it. */
  readonly unconnectedParts: { readonly count: number; readonly first: readonly NetworkComponent[] };
}

const shownCount = 10;

class NamedCount {
  count = 0;
  readonly first: string[] = [];

  add(name: string): void {
    this.count += 1;
    if (this.first.length < shownCount) this.first.push(name);
  }
}

/** Name of a node or pipe. Equal ids in two networks are different nodes. */
function named(network: string, id: string): string {
  return `${network}/${id}`;
}

/**
 * Takes items one by one; can report at any time. Memory grows only with the nodes and pipes of the file: their ids and
 * about 90 bytes each. A repeated pipe joins its nodes again.
 */
export class Topology {
  readonly #pipes = new Map<string, Set<string>>();
  readonly #components = new Components();
  readonly #duplicates = new NamedCount();
  readonly #parallels = new NamedCount();
  readonly #selfLoops = new NamedCount();
  readonly #openEnds = new NamedCount();
  #pipeCount = 0;

  add(item: PipeItem): void {
    const { network, sourceId, upstream, downstream } = item;
    const name = named(network, sourceId);
    this.#pipeCount += 1;
    const isKnown = this.#isKnown(network, sourceId);
    if (isKnown) this.#duplicates.add(name);
    if (upstream === undefined || downstream === undefined) this.#openEnds.add(name);
    else if (upstream === downstream) this.#selfLoops.add(name);
    const ends = [upstream, downstream].filter((end) => end !== undefined);
    const isParallel = this.#components.join(network, sourceId, ends);
    if (isParallel && !isKnown) this.#parallels.add(name);
  }

  report(): TopologyReport {
    const { nodeCount } = this.#components;
    const deadEnds = new NamedCount();
    for (const [network, node] of this.#components.deadEnds()) deadEnds.add(named(network, node));
    return {
      pipes: this.#pipeCount,
      nodes: nodeCount,
      networks: this.#pipes.size,
      duplicates: findingOf(this.#duplicates),
      parallels: findingOf(this.#parallels),
      selfLoops: findingOf(this.#selfLoops),
      openEnds: findingOf(this.#openEnds),
      deadEnds: findingOf(deadEnds),
      unconnectedParts: this.#unconnectedParts(),
    };
  }

  #unconnectedParts(): TopologyReport['unconnectedParts'] {
    const largest = this.#largestParts();
    const first: NetworkComponent[] = [];
    let count = 0;
    for (const component of this.#components.all()) {
      if (largest.get(component.network)?.firstPipe === component.firstPipe) continue;
      count += 1;
      if (first.length < shownCount)
        first.push({ ...component, firstPipe: named(component.network, component.firstPipe) });
    }
    return { count, first };
  }

  /** The largest component of each network; of two of one size the first. */
  #largestParts(): ReadonlyMap<string, NetworkComponent> {
    const largest = new Map<string, NetworkComponent>();
    for (const component of this.#components.all()) {
      const known = largest.get(component.network);
      if (known === undefined || component.pipes > known.pipes) largest.set(component.network, component);
    }
    return largest;
  }

  #isKnown(network: string, sourceId: string): boolean {
    let ids = this.#pipes.get(network);
    if (ids === undefined) this.#pipes.set(network, (ids = new Set<string>()));
    if (ids.has(sourceId)) return true;
    ids.add(sourceId);
    return false;
  }
}

function findingOf({ count, first }: NamedCount): Finding {
  return { count, first };
}
