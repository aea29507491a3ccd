/** Owns which nodes hang together: union-find over nodes that are known by a small number each. */

/** A typed array that doubles when it is full. */
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

interface Part {
  readonly network: string;
  readonly firstPipe: string;
  readonly pipes: number;
}

/** Nodes are numbered as they come. The lower number is the root of two that are joined, so a root is its part's first node. */
export class Parts {
  readonly #nodes = new Map<string, Map<string, number>>();
  readonly #parents = new Numbers();
  /** Pipe ends that touch the node. */
  readonly #touches = new Numbers();
  /** Pipes of the part, at its root. */
  readonly #pipes = new Numbers();
  readonly #firstPipes: (readonly [network: string, pipe: string])[] = [];
  #size = 0;
  /** Nodes that stand in for a pipe without any end. */
  #anonymous = 0;

  get nodeCount(): number {
    return this.#size - this.#anonymous;
  }

  /** Adds a pipe with the ends that it names: none, one or two. */
  join(network: string, pipe: string, ends: readonly string[]): void {
    const nodes = ends.map((end) => this.#nodeOf(network, pipe, end));
    for (const node of nodes) this.#touches.set(node, this.#touches.at(node) + 1);
    if (nodes.length === 0) this.#anonymous += 1;
    const [from = this.#newNode(network, pipe), to = from] = nodes;
    const root = this.#union(from, to);
    this.#pipes.set(root, this.#pipes.at(root) + 1);
  }

  /** Nodes that one pipe end touches, in the order in which they came. */
  *deadEnds(): Generator<readonly [network: string, node: string]> {
    for (const [network, nodes] of this.#nodes) {
      for (const [name, node] of nodes) if (this.#touches.at(node) === 1) yield [network, name];
    }
  }

  /** In the order of their first nodes. */
  *parts(): Generator<Part> {
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
      // Halves the way for the next time.
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
