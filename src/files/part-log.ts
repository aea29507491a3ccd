/**
 * A file that grows in a store of files, where nothing can be appended: each append is a file of its own, named by the
 * position of its first byte. What follows the first gap is not part of it.
 */
import type { FileStore } from './port.ts';

/** Names in the order of their positions. */
const digits = 15;
const isPosition = new RegExp(String.raw`^\d{${digits}}$`);

interface Part {
  readonly name: string;
  readonly from: number;
  readonly end: number;
}

export class PartLog {
  readonly place: string;
  readonly #store: FileStore;
  readonly #folder: string;

  /** `folder`: a name, with nothing else below it. */
  constructor(store: FileStore, folder: string) {
    this.place = `${store.address}/${folder}`;
    this.#store = store;
    this.#folder = folder;
  }

  async size(): Promise<number> {
    return (await this.#whole()).at(-1)?.end ?? 0;
  }

  /**
   * Removes the parts behind `bytes`. Resolves to the size then: another one where a part was removed, or where one lies
   * across that position.
   */
  async cutTo(bytes: number): Promise<number> {
    for (const { name } of (await this.#parts()).filter(({ from }) => from >= bytes)) await this.#store.remove(name);
    return this.size();
  }

  /** Resolves to `at`, or to another position where another process has written this part. */
  async append(bytes: Uint8Array, at: number): Promise<number> {
    const name = this.#nameOf(at);
    if (await this.#store.writeNew(name, bytes)) return at;
    // A write whose answer was lost was repeated.
    const kept = await this.#store.stat(name);
    const found = kept?.bytes === bytes.length ? await this.#store.read(name, bytes.length) : undefined;
    return found?.equals(bytes) === true ? at : at + Math.max(1, kept?.bytes ?? 0);
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    for (const { name, from, end } of await this.#whole()) {
      const bytes = await this.#store.read(name, end - from);
      if (bytes === undefined) return;
      yield bytes;
    }
  }

  async close(): Promise<void> {}

  async #whole(): Promise<readonly Part[]> {
    const parts = await this.#parts();
    const gap = parts.findIndex(({ from }, index) => from !== (parts[index - 1]?.end ?? 0));
    return gap === -1 ? parts : parts.slice(0, gap);
  }

  async #parts(): Promise<readonly Part[]> {
    const parts: Part[] = [];
    for await (const { name, bytes } of this.#store.list(`${this.#folder}/`)) {
      const position = name.slice(this.#folder.length + 1);
      // Systems leave files of their own in a folder, such as `.nfs0001` and `.DS_Store`.
      if (!isPosition.test(position)) continue;
      const from = Number(position);
      parts.push({ name, from, end: from + bytes });
    }
    return parts;
  }

  #nameOf(at: number): string {
    return `${this.#folder}/${String(at).padStart(digits, '0')}`;
  }
}
