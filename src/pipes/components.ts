/** Connected components of a network: union-find over nodes, each with a small integer as its number. */

/** A typed array that doubles when it is full. Unset elements are 0. */
class Numbers {
  #values = new Int32Array(1024);

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) {
      const larger = new Int32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[index] = value;
  }
}

interface Component {
  readonly network: string;
  readonly firstPipe: string;
  readonly pipes: number;
}

/** Two numbers of nodes fit into one number that a double holds exactly. */
const mostNodes = 2 ** 26;

/**
 * Nodes are numbered in order of arrival. The root of two joined nodes is the lower number, so a root is the first node
 * of its component.
 */
export class Components {
  readonly #nodes = new Map<string, Map<string, number>>();
  readonly #parents = new Numbers();
  /** Number of pipe ends at each node. */
  readonly #touches = new Numbers();
  /** Number of pipes of a component, at its root. */
  readonly #pipes = new Numbers();
  readonly #firstPipes: (readonly [network: string, pipe: string])[] = [];
  #size = 0;
  /** Nodes that represent a pipe without any end. */
  #anonymous = 0;
  /** Pairs of joined nodes, each as one number. */
  readonly #pairs = new Set<number>();

  get nodeCount(): number {
    return this.#size - this.#anonymous;
  }

  /** Adds a pipe with its named ends: none, one or two. Returns whether another pipe joins the same two nodes already. */
  join(network: string, pipe: string, ends: readonly string[]): boolean {
    const nodes = ends.map((end) => this.#nodeOf(network, pipe, end));
    for (const node of nodes) this.#touches.set(node, this.#touches.at(node) + 1);
    if (nodes.length === 0) this.#anonymous += 1;
    const [from = this.#newNode(network, pipe), to = from] = nodes;
    const root = this.#union(from, to);
    this.#pipes.set(root, this.#pipes.at(root) + 1);
    return from !== to && !this.#isNewPair(from, to);
  }

  /** Adds the ends of another version of a pipe that was added: another pair of nodes, or nothing. */
  rejoin(network: string, pipe: string, ends: readonly string[]): void {
    const [from, to] = ends.map((end) => this.#nodeOf(network, pipe, end));
    if (from === undefined || to === undefined || from === to || !this.#isNewPair(from, to)) return;
    for (const node of [from, to]) this.#touches.set(node, this.#touches.at(node) + 1);
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
      for (const [name, node] of nodes) if (this.#touches.at(node) === 1) yield [network, name];
    }
  }

  /** All components, in the order of their first nodes. */
  *all(): Generator<Component> {
    for (let node = 0; node < this.#size; node += 1) {
      if (this.#rootOf(node) !== node) continue;
      const [network, firstPipe] = this.#firstPipes[node] ?? ['', ''];
      yield { network, firstPipe, pipes: this.#pipes.at(node) };
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
    this.#size += 1;
    this.#parents.set(node, node);
    this.#touches.set(node, 0);
    this.#pipes.set(node, 0);
    this.#firstPipes.push([network, pipe]);
    return node;
  }

  #rootOf(node: number): number {
    let at = node;
    for (;;) {
      const parent = this.#parents.at(at);
      if (parent === at) return at;
      // Path halving.
      this.#parents.set(at, this.#parents.at(parent));
      at = parent;
    }
  }

  #union(left: number, right: number): number {
    const [leftRoot, rightRoot] = [this.#rootOf(left), this.#rootOf(right)];
    if (leftRoot === rightRoot) return leftRoot;
    const root = Math.min(leftRoot, rightRoot);
    const other = Math.max(leftRoot, rightRoot);
    this.#parents.set(other, root);
    this.#pipes.set(root, this.#pipes.at(root) + this.#pipes.at(other));
    return root;
  }
}
