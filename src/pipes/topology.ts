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
  /** Different network and source ids. */
  readonly pipes: number;
  readonly nodes: number;
  readonly networks: number;
  /** Pipes with several dates: each is a version of the pipe. */
  readonly severalDates: Finding;
  /** Repeats of a pipe under the same ids and the same date; each repeat counts. */
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
  readonly #known = new Set<string>();

  add(name: string): void {
    this.count += 1;
    if (this.first.length < shownCount) this.first.push(name);
  }

  /** For a finding of a pipe that another version of it may have too. */
  addOnce(name: string): void {
    if (this.#known.has(name)) return;
    this.#known.add(name);
    this.add(name);
  }
}

/** Name of a node or pipe. Equal ids in two networks are different nodes. */
function named(network: string, id: string): string {
  return `${network}/${id}`;
}

/**
 * Takes items one by one; can report at any time. Memory grows only with the nodes and pipes of the file: their ids and
 * about 100 bytes each. Another version of a pipe joins its nodes too.
 */
export class Topology {
  /** The versions of each pipe, by network and source id; a set where there are several. */
  readonly #pipes = new Map<string, Map<string, string | Set<string>>>();
  readonly #severalDates = new NamedCount();
  readonly #components = new Components();
  readonly #duplicates = new NamedCount();
  readonly #parallels = new NamedCount();
  readonly #selfLoops = new NamedCount();
  readonly #openEnds = new NamedCount();
  #pipeCount = 0;

  add(item: PipeItem): void {
    const { network, sourceId, upstream, downstream } = item;
    const name = named(network, sourceId);
    const known = this.#note(item);
    if (known === 'version') this.#duplicates.add(name);
    if (known === 'pipe') this.#severalDates.addOnce(name);
    if (upstream === undefined || downstream === undefined) this.#openEnds.addOnce(name);
    else if (upstream === downstream) this.#selfLoops.addOnce(name);
    const ends = [upstream, downstream].filter((end) => end !== undefined);
    if (known !== 'nothing') this.#components.rejoin(network, sourceId, ends);
    else if (this.#components.join(network, sourceId, ends)) this.#parallels.add(name);
  }

  report(): TopologyReport {
    const { nodeCount } = this.#components;
    const deadEnds = new NamedCount();
    for (const [network, node] of this.#components.deadEnds()) deadEnds.add(named(network, node));
    return {
      pipes: this.#pipeCount,
      nodes: nodeCount,
      networks: this.#pipes.size,
      severalDates: findingOf(this.#severalDates),
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

  /** What of an item was there before: its version, another version of its pipe, or nothing. */
  #note({ network, sourceId, version }: PipeItem): 'nothing' | 'pipe' | 'version' {
    let ids = this.#pipes.get(network);
    if (ids === undefined) this.#pipes.set(network, (ids = new Map<string, string | Set<string>>()));
    const known = ids.get(sourceId);
    if (known === undefined) {
      ids.set(sourceId, version);
      this.#pipeCount += 1;
      return 'nothing';
    }
    if (typeof known === 'string' ? known === version : known.has(version)) return 'version';
    if (typeof known === 'string') ids.set(sourceId, new Set([known, version]));
    else known.add(version);
    return 'pipe';
  }
}

function findingOf({ count, first }: NamedCount): Finding {
  return { count, first };
}
