/** Checks a network as a graph, with pipes as edges and their ends as nodes (docs/design.md section 4.3). */
import type { PipeItem } from './items.ts';

/** A count, and the names of the first few in the order of the file. */
export interface Finding {
  readonly count: number;
  readonly first: readonly string[];
}

/** A connected component: pipes joined to each other and to no other pipe. */
interface Component {
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
  readonly unconnectedParts: { readonly count: number; readonly first: readonly Component[] };
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
    const known = this.#record(item);
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
    const first: Component[] = [];
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
  #largestParts(): ReadonlyMap<string, Component> {
    const largest = new Map<string, Component>();
    for (const component of this.#components.all()) {
      const known = largest.get(component.network);
      if (known === undefined || component.pipes > known.pipes) largest.set(component.network, component);
    }
    return largest;
  }

  /** What of an item was there before: its version, another version of its pipe, or nothing. */
  #record({ network, sourceId, version }: PipeItem): 'nothing' | 'pipe' | 'version' {
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

// Connected components of a network: union-find over nodes, each with a small integer as its number.

/** Two numbers of nodes fit into one number that a double holds exactly. */
const mostNodes = 2 ** 26;

/**
 * Nodes are numbered in order of arrival. The root of two joined nodes is the lower number, so a root is the first node
 * of its component.
 */
class Components {
  readonly #nodes = new Map<string, Map<string, number>>();
  readonly #parents: number[] = [];
  /** Number of pipe ends at each node. */
  readonly #touches: number[] = [];
  /** Number of pipes of a component, at its root. */
  readonly #pipes: number[] = [];
  readonly #firstPipes: (readonly [network: string, pipe: string])[] = [];
  /** Nodes that represent a pipe without any end. */
  #anonymous = 0;
  /** Pairs of joined nodes, each as one number. */
  readonly #pairs = new Set<number>();

  get nodeCount(): number {
    return this.#size - this.#anonymous;
  }

  get #size(): number {
    return this.#parents.length;
  }

  /** Adds a pipe with its named ends: none, one or two. Returns whether another pipe joins the same two nodes already. */
  join(network: string, pipe: string, ends: readonly string[]): boolean {
    const nodes = ends.map((end) => this.#nodeOf(network, pipe, end));
    for (const node of nodes) addTo(this.#touches, node, 1);
    if (nodes.length === 0) this.#anonymous += 1;
    const [from = this.#newNode(network, pipe), to = from] = nodes;
    const root = this.#union(from, to);
    addTo(this.#pipes, root, 1);
    return from !== to && !this.#isNewPair(from, to);
  }

  /** Adds the ends of another version of a pipe that was added: another pair of nodes, or nothing. */
  rejoin(network: string, pipe: string, ends: readonly string[]): void {
    const [from, to] = ends.map((end) => this.#nodeOf(network, pipe, end));
    if (from === undefined || to === undefined || from === to || !this.#isNewPair(from, to)) return;
    for (const node of [from, to]) addTo(this.#touches, node, 1);
    this.#union(from, to);
  }

  /** In either direction. */
  #isNewPair(from: number, to: number): boolean {
    const pair = Math.min(from, to) * mostNodes + Math.max(from, to);
    if (this.#pairs.has(pair)) return false;
    this.#pairs.add(pair);
    return true;
  }

  /** Nodes with a single pipe end, in order of arrival. */
  *deadEnds(): Generator<readonly [network: string, node: string]> {
    for (const [network, nodes] of this.#nodes) {
      for (const [name, node] of nodes) if (this.#touches[node] === 1) yield [network, name];
    }
  }

  /** All components, in the order of their first nodes. */
  *all(): Generator<Component> {
    for (let node = 0; node < this.#size; node += 1) {
      if (this.#rootOf(node) !== node) continue;
      const [network, firstPipe] = this.#firstPipes[node] ?? ['', ''];
      yield { network, firstPipe, pipes: this.#pipes[node] ?? 0 };
    }
  }

  #nodeOf(network: string, pipe: string, name: string): number {
    let nodes = this.#nodes.get(network);
    if (nodes === undefined) this.#nodes.set(network, (nodes = new Map<string, number>()));
    const known = nodes.get(name);
    if (known !== undefined) return known;
    const node = this.#newNode(network, pipe);
    nodes.set(name, node);
    return node;
  }

  #newNode(network: string, pipe: string): number {
    const node = this.#size;
    this.#parents.push(node);
    this.#touches.push(0);
    this.#pipes.push(0);
    this.#firstPipes.push([network, pipe]);
    return node;
  }

  #rootOf(node: number): number {
    let at = node;
    for (let parent = this.#parents[at] ?? at; parent !== at; parent = this.#parents[at] ?? at) {
      // Path halving.
      this.#parents[at] = this.#parents[parent] ?? parent;
      at = parent;
    }
    return at;
  }

  #union(left: number, right: number): number {
    const [leftRoot, rightRoot] = [this.#rootOf(left), this.#rootOf(right)];
    if (leftRoot === rightRoot) return leftRoot;
    const root = Math.min(leftRoot, rightRoot);
    const other = Math.max(leftRoot, rightRoot);
    this.#parents[other] = root;
    addTo(this.#pipes, root, this.#pipes[other] ?? 0);
    return root;
  }
}

function addTo(counts: number[], node: number, amount: number): void {
  counts[node] = (counts[node] ?? 0) + amount;
}
