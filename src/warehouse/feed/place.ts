/** What a feed needs of the folder or the bucket that it lies in. */

interface StoredContent {
  readonly bytes: number;
  readonly sha256: string;
}

/** Names are paths with `/`. src/files has places of this kind, and says how they fail. */
export interface FeedPlace {
  /** Without secrets. */
  readonly address: string;
  read(name: string, mostBytes: number): Promise<Buffer | undefined>;
  write(name: string, bytes: Uint8Array): Promise<void>;
  /**
   * Writes in the place of the bytes `before`, or of no file. Returns false, and leaves it, if the file holds other bytes. A
   * folder, and a store without conditional writes, may let two that write at the same time both pass.
   */
  replace(name: string, bytes: Uint8Array, before: Uint8Array | undefined): Promise<boolean>;
  /** Throws if the place has kept another size. */
  upload(name: string, path: string, content: StoredContent): Promise<void>;
  /** The file, readable by path once its size and digest were compared; undefined if there is none. */
  fetch(
    name: string,
    content: StoredContent,
    folder: string,
  ): Promise<({ readonly path: string } & AsyncDisposable) | undefined>;
  list(prefix: string): AsyncIterable<{ readonly name: string; readonly changedAtMs: number }>;
  remove(name: string): Promise<void>;
}
