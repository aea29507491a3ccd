/**
 * The port to the files that the hosts of a warehouse share (docs/design.md section 7), each known by its name: a shared
 * folder or an S3-compatible store. Every call throws UnreachableError('files') while the store cannot be used, with what
 * to do; errors and addresses hold no secret (G10).
 */

/** What a file holds, by size and SHA-256 (hexadecimal). */
export interface FileContent {
  readonly bytes: number;
  readonly sha256: string;
}

export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** By the clock of the store, milliseconds since 1970. */
  readonly changedAtMs: number;
}

/** A file of the store that this host can read by path; disposal removes what was copied for it. */
export interface LocalFile extends AsyncDisposable {
  readonly path: string;
}

/** The settings that name the place: `files.url`, or `feed.url`. */
export type StoreSetting = 'files' | 'feed';

/** Names are segments of letters, digits, `-`, `_`, `=` and `.`, joined by `/`; no segment begins with a dot. */
export interface FileStore {
  readonly address: string;
  /** The same store, whose calls end with AbortedError on the signal. */
  under(signal: AbortSignal): FileStore;
  /** Writes a small file, in the place of one of the same name; a reader finds the old bytes or the new ones. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** As {@link write}, unless there is a file of that name: returns false and leaves it. */
  writeNew(name: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Writes a small file in the place of the bytes `before`, or of no file. Returns false, and leaves it, if the file holds
   * other bytes. Of two that write at the same time one passes, where the store takes conditional writes; in a folder, and
   * in a store that takes none, both may, and the caller keeps them apart.
   */
  replace(name: string, bytes: Uint8Array, before: Uint8Array | undefined): Promise<boolean>;
  /**
   * The bytes of a small file; undefined if there is none. Throws TransientError (`file-damaged`) for one of more than
   * `mostBytes`, and for what is no regular file.
   */
  read(name: string, mostBytes: number): Promise<Buffer | undefined>;
  /**
   * Copies a file of this host, of any size in bounded memory (G8). Nobody sees it before it is whole and its size and
   * digest were compared with `content`. Throws UsageError when the file cannot be read or has another content,
   * UnreachableError when the store has kept another size. What was sent in part is removed.
   */
  upload(name: string, path: string, content: FileContent): Promise<void>;
  /**
   * The file, readable by path once its size and digest were compared with `content`; a store that is no folder copies
   * it into `folder`. Undefined if there is none. Throws TransientError (`file-damaged`) when they differ, OutageError
   * while the disk has no room.
   */
  fetch(name: string, content: FileContent, folder: string): Promise<LocalFile | undefined>;
  /**
   * Whether a file of that name holds `content`, by its size and its digest: it is read, and not copied.
   */
  holds(name: string, content: FileContent): Promise<boolean>;
  stat(name: string): Promise<StoredFile | undefined>;
  /**
   * Every whole file below a prefix that ends with `/`, in the order of the names. A listing that does not end is
   * UnreachableError as well.
   */
  list(prefix: string): AsyncIterable<StoredFile>;
  remove(name: string): Promise<void>;
  /** Ends the uploads that began before this time and were never completed; returns their number. */
  endCutUploads(beforeMs: number): Promise<number>;
  /** Ends all calls, and closes connections. */
  close(): void;
}
