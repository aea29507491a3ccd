/** Ends a listing that a broken store repeats, or that never ends. */

const mostNames = 1_000_000;
const mostEmptyPages = 100;

export class ListingBounds {
  #last = '';
  #names = 0;
  #emptyPages = 0;

  /** Takes the names of a page and the mark of the next one. Returns what is wrong with the listing, if anything is. */
  faultOf(
    names: readonly string[],
    { mark, next }: { readonly mark: string | undefined; readonly next: string | undefined },
  ): string | undefined {
    this.#names += names.length;
    this.#emptyPages = names.length === 0 ? this.#emptyPages + 1 : 0;
    if (next !== undefined && next === mark) return 'its listing repeats a page';
    for (const name of names) {
      if (this.#last !== '' && Buffer.compare(Buffer.from(name), Buffer.from(this.#last)) <= 0)
        return 'its listing is not in order, or repeats names';
      this.#last = name;
    }
    if (this.#emptyPages > mostEmptyPages || this.#names > mostNames) return 'its listing does not end';
    return undefined;
  }
}
