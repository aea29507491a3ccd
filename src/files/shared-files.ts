/**
 * The files that the hosts of a warehouse share (docs/design.md section 7, docs/decisions/0014-files-of-several-hosts.md):
 *
 *   wellsync-place.json             the id of the place
 *   WAREHOUSE/content/SHA256        a file that is to be pushed
 *   WAREHOUSE/requested/SHA256      when a run of it was last requested: its content is not removed for a day
 *   WAREHOUSE/rejects/RUN/POSITION  rejected rows, in parts
 */
import { randomUUID } from 'node:crypto';
import { BlockedError, PermanentError } from '../core/base/errors.ts';
import type { SharedLocation } from '../core/run/run.ts';
import { DAY_MS } from '../core/time/window.ts';
import { noneIfDamaged, removeLeftCopies } from './checked-blocks.ts';
import type { FileContent, FileStore, LocalFile, StoredFile, StoreSetting } from './port.ts';
import { fileURLToPath } from 'node:url';
import { withSteps } from '../core/base/failpoint.ts';
import { FolderStore } from './folder-store.ts';

interface SharedFilesOptions {
  /** Opens the store of `files.url`, at its first use. */
  readonly open: () => Promise<FileStore>;
  readonly warehouseId: () => Promise<string>;
  readonly unfinishedLocations: () => Promise<readonly SharedLocation[]>;
  readonly copiesFolder: string;
}

/** What unfinished runs need, for {@link SharedFiles.removable}. */
export interface NeededFiles {
  readonly contents: ReadonlySet<string>;
  readonly runs: ReadonlySet<string>;
}

const idFile = 'wellsync-place.json';
const mostIdBytes = 4 * 1024;
const pollAgainMs = 15_000;
/** A file that was just requested may belong to a run that is only being made. */
const keptAnywayMs = DAY_MS;

export class SharedFiles {
  readonly #options: SharedFilesOptions;
  #store: Promise<FileStore> | undefined;

  constructor(options: SharedFilesOptions) {
    this.#options = options;
  }

  /**
   * Copies a file of this host into the place, unless its content is there, undamaged. Returns the place for the run. Throws
   * PermanentError (`files-check`) where the place has lost its id, which unfinished runs name.
   */
  async put(path: string, content: FileContent, signal?: AbortSignal): Promise<SharedLocation> {
    const store = await this.#open(signal);
    const location = { id: await this.#idOf(store), address: store.address, folder: await this.#options.warehouseId() };
    // First, so that from now on nobody removes a content that is there.
    await store.write(
      `${location.folder}/requested/${content.sha256}`,
      Buffer.from(`${JSON.stringify({ bytes: content.bytes })}\n`),
    );
    const name = contentName(location, content);
    if (!(await store.holds(name, content))) await store.upload(name, path, content);
    return location;
  }

  /**
   * Throws BlockedError where this process has another place than the run: a worker that has it works the run.
   * PermanentError (`source-missing`) when the file is in the place no more.
   */
  async requireFile(location: SharedLocation, content: FileContent, signal?: AbortSignal): Promise<void> {
    const store = await this.#openAt(location, signal);
    if ((await store.stat(contentName(location, content))) === undefined) throw missing(location, content);
  }

  /** The file, for reading; its disposal removes what was copied. Throws as {@link FileStore.fetch} does, and as {@link requireFile}. */
  async fetch(location: SharedLocation, content: FileContent, signal?: AbortSignal): Promise<LocalFile> {
    const store = await this.#openAt(location, signal);
    const { copiesFolder } = this.#options;
    await removeLeftCopies(copiesFolder, Date.now());
    const file = await store.fetch(contentName(location, content), content, copiesFolder);
    if (file === undefined) throw missing(location, content);
    return file;
  }

  /** The rejected rows of a run. Throws BlockedError where this process has another place. */
  async rejects(location: SharedLocation, runId: string, signal?: AbortSignal): Promise<PartLog> {
    return new PartLog(await this.#openAt(location, signal), `${location.folder}/rejects/${runId}`);
  }

  /** Checks the id of the place, if it has one; writes, reads and removes a file. Returns the address of the store. */
  async check(): Promise<string> {
    const store = await this.#open();
    if ((await store.stat(idFile)) !== undefined && (await readId(store)) === undefined) throw damagedId(store);
    return checkStore(store);
  }

  /**
   * Names of the files of this warehouse that no unfinished run needs: contents that were not requested within a day,
   * and rejected rows of runs whose last part is older than `rejectsBeforeMs`. `needed` is called behind the listing of
   * the contents, so that a run that is made meanwhile is among its runs or was requested within the day.
   */
  async removable(
    { nowMs, rejectsBeforeMs }: { readonly nowMs: number; readonly rejectsBeforeMs: number },
    needed: () => Promise<NeededFiles>,
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const store = await this.#open(signal);
    const folder = await this.#options.warehouseId();
    const contents = await filesIn(store, `${folder}/content/`);
    const requested = await filesIn(store, `${folder}/requested/`);
    const rejects = await filesIn(store, `${folder}/rejects/`);
    const { contents: kept, runs } = await needed();
    const isOld = ({ changedAtMs }: StoredFile): boolean => changedAtMs < nowMs - keptAnywayMs;
    const requestedLately = new Set(requested.filter((file) => !isOld(file)).map(digestOf));
    const oldContents = [...contents, ...requested].filter(
      (file) => isOld(file) && !kept.has(digestOf(file)) && !requestedLately.has(digestOf(file)),
    );
    const youngRuns = new Set(rejects.filter(({ changedAtMs }) => changedAtMs >= rejectsBeforeMs).map(runOf));
    const oldRejects = rejects.filter((file) => !youngRuns.has(runOf(file)) && !runs.has(runOf(file)));
    return [...oldContents, ...oldRejects].map(({ name }) => name);
  }

  /** Removes files that {@link removable} named, but those requested since, and ends uploads that were cut. Returns the number of files. */
  async remove(names: readonly string[], nowMs: number, signal?: AbortSignal): Promise<number> {
    const store = await this.#open(signal);
    let removed = 0;
    for (const name of names) {
      const isReject = name.includes('/rejects/');
      const request = isReject ? undefined : await store.stat(name.replace('/content/', '/requested/'));
      if ((request?.changedAtMs ?? 0) >= nowMs - keptAnywayMs) continue;
      await store.remove(name);
      removed += 1;
    }
    await store.endCutUploads(nowMs - keptAnywayMs);
    return removed;
  }

  async close(): Promise<void> {
    (await this.#store?.catch(() => undefined))?.close();
  }

  /** A place without an id gets one, unless it has lost its own: a new one would part it from the runs that have it. */
  async #idOf(store: FileStore): Promise<string> {
    if ((await store.stat(idFile)) === undefined) {
      const locations = await this.#options.unfinishedLocations();
      const named = locations.find(({ address }) => address === store.address);
      if (named !== undefined) throw lostId(store, named);
    }
    return makeId(store);
  }

  async #open(signal?: AbortSignal): Promise<FileStore> {
    this.#store ??= this.#options.open();
    const store = await this.#store;
    return signal === undefined ? store : store.under(signal);
  }

  async #openAt({ id, address }: SharedLocation, signal: AbortSignal | undefined): Promise<FileStore> {
    const store = await this.#open(signal);
    const found = await readId(store);
    if (found === id) return store;
    if (found === undefined || address === store.address) throw otherId(store, { id, address }, found);
    throw new BlockedError(
      'files-elsewhere',
      `the file of the run lies in ${address}, and files.url of this host is another place, ${store.address}: a worker of another may have it`,
      pollAgainMs,
    );
  }
}

async function makeId(store: FileStore): Promise<string> {
  const id = randomUUID();
  if (await store.writeNew(idFile, Buffer.from(`${JSON.stringify({ id })}\n`))) return id;
  const known = await readId(store);
  if (known !== undefined) return known;
  throw damagedId(store);
}

/** A new id would part the place from its runs: they keep the old one. */
function damagedId(store: FileStore): PermanentError {
  return new PermanentError('files-check', `${store.address}/${idFile} does not hold the id of a place`, {
    hint: 'Write its line again from a backup, or as a worker that waits for a file of this place names it. Remove it only where no push is unfinished: the next one gives the place a new id.',
  });
}

function lostId(store: FileStore, { id }: SharedLocation): PermanentError {
  const message = `${store.address} has no ${idFile}, and unfinished runs have an id of it`;
  const hint = `Is its disk mounted, is it the same bucket? If so, write the line ${JSON.stringify({ id })} as ${idFile} there. If it is a new place, end those runs first.`;
  return new PermanentError('files-check', message, { hint });
}

/** The place of the run that has lost its id, or another one. `found`: the id there. */
function otherId(
  store: FileStore,
  { id, address }: Pick<SharedLocation, 'id' | 'address'>,
  found: string | undefined,
): BlockedError {
  const has = found === undefined ? 'no id' : 'another id than the place of the run';
  const line = JSON.stringify({ id });
  const message = `the file of the run lies in ${address}, and files.url of this host, ${store.address}, has ${has}. If it is the place of the run, write the line ${line} as ${idFile} there: the work goes on then. If it is another one, a worker of another may have it`;
  return new BlockedError('files-elsewhere', message, pollAgainMs);
}

async function readId(store: FileStore): Promise<string | undefined> {
  const text = String((await store.read(idFile, mostIdBytes).catch(noneIfDamaged)) ?? '');
  return /^\{"id":"([\w-]+)"\}\n$/.exec(text)?.[1];
}

function contentName({ folder }: SharedLocation, { sha256 }: FileContent): string {
  return `${folder}/content/${sha256}`;
}

async function filesIn(store: FileStore, prefix: string): Promise<readonly StoredFile[]> {
  const files: StoredFile[] = [];
  for await (const file of store.list(prefix)) files.push(file);
  return files;
}

function digestOf({ name }: StoredFile): string {
  return name.split('/').at(-1) ?? '';
}

function runOf({ name }: StoredFile): string {
  return name.split('/').at(-2) ?? '';
}

function missing(location: SharedLocation, content: FileContent): PermanentError {
  return new PermanentError(
    'source-missing',
    `${location.address}/${contentName(location, content)} is there no more`,
    {
      hint: 'Push the file again: files of runs that have not ended are kept, but by hand or by a rule of the store it was removed.',
    },
  );
}

// A file that grows in a store of files, where nothing can be appended: each append is a file of its own, named by the
// position of its first byte. What follows the first gap is not part of it.

/** Names in the order of their positions. */
const digits = 15;
const isPosition = new RegExp(String.raw`^\d{${digits}}$`);

interface Part {
  readonly name: string;
  readonly from: number;
  readonly end: number;
}

export class PartLog {
  readonly location: string;
  readonly #store: FileStore;
  readonly #folder: string;

  /** `folder`: a name, with nothing else below it. */
  constructor(store: FileStore, folder: string) {
    this.location = `${store.address}/${folder}`;
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

// Opens the store that `files.url` or `feed.url` names; the client of S3 is loaded only where one is.

interface StoreAddress {
  /** An absolute path, `file:///PATH`, or `s3://BUCKET/PREFIX`. */
  readonly url: string;
  /** For S3: the address of a store other than AWS. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** By default true with an endpoint. */
  readonly pathStyle: boolean | undefined;
  /** Of which the address is; for messages. */
  readonly setting?: StoreSetting;
}

/** The folder that an address names; undefined for a bucket. */
export function folderOfAddress(url: string): string | undefined {
  if (url.startsWith('s3:')) return undefined;
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

/** `onSecret` is called with each secret that the client of the store found (G10). */
export async function openStore(
  { url, endpoint, region, pathStyle = endpoint !== undefined, setting = 'files' }: StoreAddress,
  onSecret: (secret: string) => void,
): Promise<FileStore> {
  const folder = folderOfAddress(url);
  if (folder !== undefined) return withSteps<FileStore>('store', new FolderStore(folder, setting));
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)(.*)$/.exec(url) ?? [];
  const { S3Store } = await import('./s3-store.ts');
  const location = { bucket, prefix: prefix.replaceAll(/^\/+|\/+$/g, ''), endpoint, region, pathStyle, setting };
  return withSteps<FileStore>('store', new S3Store(location, onSecret));
}

// Whether a store does what wellsync asks of it: a small file is written, read and removed.

/**
 * Returns the address of the store. Throws as its calls do, and PermanentError (`files-check`) where a read does not see the
 * last write.
 */
export async function checkStore(store: FileStore): Promise<string> {
  const [name, text] = [`check/${randomUUID()}`, 'wellsync doctor'];
  await store.write(name, Buffer.from(text));
  const found = await store.read(name, text.length);
  await store.remove(name);
  if (String(found) === text && (await store.stat(name)) === undefined) return store.address;
  throw new PermanentError(
    'files-check',
    `${store.address} does not give back what was written, or does not remove it`,
    { hint: 'wellsync needs a store in which a read sees the last write at once.' },
  );
}
