/**
 * Items that wait for a chunk with another item of their order key: of each key in the order of the file, and of one
 * version of it at most one.
 */
export class PutOffItems<Cut extends { readonly item: { readonly version: string } }> {
  /** By order key and version, in the order of the file. */
  readonly #waiting = new Map<string, Map<string, Cut>>();

  /** Number of order keys with waiting items. */
  get size(): number {
    return this.#waiting.size;
  }

  has(key: string): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(key);
  }

  /** Adds an item behind the others of its key, of which none has its version. */
  add(key: string, cut: Cut): void {
    const items = this.#waiting.get(key);
    if (items === undefined) this.#waiting.set(key, new Map([[cut.item.version, cut]]));
    else items.set(cut.item.version, cut);
  }

  takeFirst(key: string): Cut | undefined {
    const version = this.#waiting.get(key)?.keys().next().value;
    return version === undefined ? undefined : this.takeOut(key, version);
  }

  takeOut(key: string, version: string): Cut | undefined {
    const items = this.#waiting.get(key);
    const cut = items?.get(version);
    if (items === undefined || cut === undefined) return undefined;
    items.delete(version);
    if (items.size === 0) this.#waiting.delete(key);
    return cut;
  }
}
