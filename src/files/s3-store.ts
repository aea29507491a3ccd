/** A bucket of an S3-compatible store, or a part of one, as a store of files. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { AbortedError, UnreachableError } from '../core/base/errors.ts';
import { onDisk } from '../core/base/file-fault.ts';
import { checkedBlocks, ContentCheck, copyPrefix, damagedFile, lostPart, noneIfDamaged } from './checked-blocks.ts';
import type { FileContent, FileStore, LocalFile, StoredFile } from './port.ts';
import {
  connectionTo,
  isMissing,
  isThere,
  isUnconditional,
  noStore,
  type S3Connection,
  s3Fault,
  type S3Location,
  type S3Settings,
} from './s3-client.ts';

/** Called with each secret of the credentials that the client found, before it is used, so that no text shows it (G10). */
type OnCredentials = (secret: string) => void;

const partBytes = 8 * 1024 * 1024;
/** The store takes at most 10,000 parts. */
const mostParts = 9_000;
/** Parts that are under way at one time: each is held in memory. */
const partsAtOnce = 2;
/** For the parts of an upload that was ended; those that are left go with {@link FileStore.endCutUploads}. */
const removeMs = 5_000;
/** A download whose answer is cut goes on where it was; this often without a byte it is given up. */
const mostFruitlessReads = 3;

interface Reading {
  readonly content: FileContent;
  readonly take: (block: Buffer) => Promise<void>;
}

export class S3Store implements FileStore {
  readonly address: string;
  readonly #settings: S3Settings;
  readonly #connection: S3Connection;
  readonly #client: S3Client;
  readonly #location: S3Location;
  readonly #onCredentials: OnCredentials;
  readonly #signal: AbortSignal;
  readonly #how: { readonly abortSignal: AbortSignal };

  constructor(
    settings: S3Settings,
    onCredentials: OnCredentials,
    connection = connectionTo(settings),
    signal = connection.closing.signal,
  ) {
    const { bucket, prefix, endpoint } = settings;
    this.address = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#settings = settings;
    this.#connection = connection;
    this.#client = connection.client;
    this.#location = { bucket, endpoint, region: connection.region, setting: settings.setting };
    this.#onCredentials = onCredentials;
    this.#signal = signal;
    this.#how = { abortSignal: signal };
  }

  under(signal: AbortSignal): S3Store {
    return new S3Store(
      this.#settings,
      this.#onCredentials,
      this.#connection,
      AbortSignal.any([signal, this.#connection.closing.signal]),
    );
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#use(() => this.#client.send(new PutObjectCommand({ ...this.#object(name), Body: bytes }), this.#how));
  }

  async writeNew(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#use(async () => {
      // A store that does not know If-None-Match would replace the file.
      if ((await this.#stat(name)) !== undefined) return false;
      try {
        await this.#client.send(
          new PutObjectCommand({ ...this.#object(name), Body: bytes, IfNoneMatch: '*' }),
          this.#how,
        );
        return true;
      } catch (error) {
        if (isThere(error)) return false;
        throw error;
      }
    });
  }

  async replace(name: string, bytes: Uint8Array, before: Uint8Array | undefined): Promise<boolean> {
    return this.#use(async () => {
      if (before === undefined) return this.writeNew(name, bytes);
      const found = await this.#read(name, before.length).catch(noneIfDamaged);
      if (found?.bytes.equals(before) !== true) return false;
      const object = { ...this.#object(name), Body: bytes };
      try {
        await this.#client.send(new PutObjectCommand({ ...object, IfMatch: found.etag }), this.#how);
        return true;
      } catch (error) {
        if (isThere(error) || isMissing(error)) return false;
        if (!isUnconditional(error)) throw error;
        await this.#client.send(new PutObjectCommand(object), this.#how);
        return true;
      }
    });
  }

  async read(name: string, mostBytes: number): Promise<Buffer | undefined> {
    return this.#use(async () => (await this.#read(name, mostBytes))?.bytes);
  }

  #read(name: string, mostBytes: number): Promise<{ bytes: Buffer; etag: string | undefined } | undefined> {
    return unlessMissing(async () => {
      const { Body, ETag: etag } = await this.#client.send(new GetObjectCommand(this.#object(name)), this.#how);
      const blocks: Buffer[] = [];
      let bytes = 0;
      for await (const block of (Body ?? []) as AsyncIterable<Buffer>) {
        bytes += block.length;
        if (bytes > mostBytes) throw damagedFile(this.#pathOf(name), `it has more than ${mostBytes} bytes`);
        blocks.push(block);
      }
      return { bytes: Buffer.concat(blocks), etag };
    });
  }

  async upload(name: string, file: string, content: FileContent): Promise<void> {
    await this.#use(async () => {
      const partSize = Math.max(partBytes, Math.ceil(content.bytes / mostParts));
      const Body = Readable.from(checkedBlocks(file, content, this.#signal), { objectMode: false, highWaterMark: 0 });
      // What ends the blocks or a part ends the upload: its parts are removed from the store before it rejects.
      const upload = new Upload({
        client: this.#stoppable(),
        params: { ...this.#object(name), Body },
        partSize,
        queueSize: partsAtOnce,
      });
      await upload.done();
      const kept = await this.#stat(name);
      if (kept?.bytes === content.bytes) return;
      await this.#client.send(new DeleteObjectCommand(this.#object(name)), this.#how);
      throw lostPart(this.#pathOf(name), content.bytes, kept?.bytes);
    });
  }

  /** The client for an upload, which gives its parts no signal. A stop ends them, and leaves time to remove them. */
  #stoppable(): S3Client {
    const client = this.#client;
    const send = (command: object): unknown => {
      const abortSignal = command instanceof AbortMultipartUploadCommand ? AbortSignal.timeout(removeMs) : this.#signal;
      return client.send(command as PutObjectCommand, { abortSignal });
    };
    return Object.create(client, { send: { value: send } }) as S3Client;
  }

  async fetch(name: string, content: FileContent, folder: string): Promise<LocalFile | undefined> {
    if (!(await this.#isOfSize(name, content))) return undefined;
    const file = path.join(folder, `${copyPrefix}${randomUUID()}.csv`);
    const remove = () => rm(file, { force: true });
    try {
      await onDisk(folder, () => mkdir(folder, { recursive: true }));
      await using handle = await onDisk(folder, () => open(file, 'wx'));
      await this.#readWhole(name, { content, take: (block) => onDisk(folder, () => handle.writeFile(block)) });
      return { path: file, [Symbol.asyncDispose]: remove };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  async holds(name: string, content: FileContent): Promise<boolean> {
    try {
      if (!(await this.#isOfSize(name, content))) return false;
      await this.#readWhole(name, { content, take: async () => {} });
      return true;
    } catch (error) {
      return noneIfDamaged(error) ?? false;
    }
  }

  async stat(name: string): Promise<StoredFile | undefined> {
    return this.#use(() => this.#stat(name));
  }

  async *list(prefix: string): AsyncGenerator<StoredFile, void, undefined> {
    const { Bucket, Key: Prefix } = this.#object(prefix);
    const bounds = new ListingBounds();
    for (let mark: string | undefined, isMore = true; isMore;) {
      const ContinuationToken = mark;
      const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken });
      const page = await this.#use(() => this.#client.send(command, this.#how));
      const { Contents = [], NextContinuationToken: next } = page;
      this.#checkListing(
        bounds.faultOf(
          Contents.map(({ Key = '' }) => Key),
          { mark, next },
        ),
      );
      for (const { Key = '', Size, LastModified } of Contents) {
        yield { name: this.#nameOf(Key), bytes: Size ?? 0, changedAtMs: LastModified?.getTime() ?? 0 };
      }
      mark = next;
      isMore = next !== undefined;
    }
  }

  async remove(name: string): Promise<void> {
    await this.#use(() => this.#client.send(new DeleteObjectCommand(this.#object(name)), this.#how));
  }

  async endCutUploads(beforeMs: number): Promise<number> {
    return this.#use(async () => {
      const { Bucket, Key: Prefix } = this.#object('');
      const bounds = new ListingBounds();
      let ended = 0;
      for (
        let marker: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } = {},
          isMore = true;
        isMore;
      ) {
        const page = await this.#client.send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...marker }), this.#how);
        const cut = (page.Uploads ?? []).filter(({ Initiated }) => (Initiated?.getTime() ?? Infinity) < beforeMs);
        for (const { Key, UploadId } of cut) {
          await this.#client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), this.#how);
        }
        ended += cut.length;
        const next = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
        isMore = page.IsTruncated ?? false;
        const marks = { mark: JSON.stringify(marker), next: isMore ? JSON.stringify(next) : undefined };
        this.#checkListing(bounds.faultOf([], marks));
        marker = next;
      }
      return ended;
    });
  }

  close(): void {
    this.#connection.closing.abort();
    this.#client.destroy();
  }

  #checkListing(fault: string | undefined): void {
    if (fault !== undefined) throw noStore(this.#location, fault);
  }

  #object(name: string): { readonly Bucket: string; readonly Key: string } {
    const { bucket, prefix } = this.#settings;
    return { Bucket: bucket, Key: prefix === '' ? name : `${prefix}/${name}` };
  }

  #nameOf(key: string): string {
    return key.slice(this.#object('').Key.length);
  }

  #pathOf(name: string): string {
    return `${this.address}/${name}`;
  }

  async #stat(name: string): Promise<StoredFile | undefined> {
    const found = await unlessMissing(() => this.#client.send(new HeadObjectCommand(this.#object(name)), this.#how));
    if (found === undefined) return undefined;
    return { name, bytes: found.ContentLength ?? 0, changedAtMs: found.LastModified?.getTime() ?? 0 };
  }

  /** False if there is no such file. Throws TransientError (`file-damaged`) for one of another size. */
  async #isOfSize(name: string, content: FileContent): Promise<boolean> {
    const kept = await this.stat(name);
    if (kept === undefined) return false;
    if (kept.bytes === content.bytes) return true;
    throw damagedFile(this.#pathOf(name), `it has ${kept.bytes} bytes, and had ${content.bytes}`);
  }

  /** Throws TransientError (`file-damaged`) behind the last block when the content is another one. */
  async #readWhole(name: string, { content, take }: Reading): Promise<void> {
    const check = new ContentCheck(content);
    for (let fruitless = 0; check.bytes < content.bytes && fruitless < mostFruitlessReads;) {
      const from = check.bytes;
      // Where no answer begins, the client has tried more than once.
      let isAnswered = false;
      const onAnswer = (): void => void (isAnswered = true);
      await this.#use(() => this.#readFrom(name, { check, content, take, onAnswer })).catch((error: unknown) => {
        const mayGoOn = isAnswered && (check.bytes > from || fruitless + 1 < mostFruitlessReads);
        if (!mayGoOn || !(error instanceof UnreachableError)) throw error;
      });
      fruitless = check.bytes > from ? 0 : fruitless + 1;
    }
    if (!check.isSame()) throw damagedFile(this.#pathOf(name), 'its digest is another one');
  }

  async #readFrom(
    name: string,
    { check, content, take, onAnswer }: Reading & { readonly check: ContentCheck; readonly onAnswer: () => void },
  ): Promise<void> {
    const Range = `bytes=${check.bytes}-`;
    const { Body } = await this.#client.send(new GetObjectCommand({ ...this.#object(name), Range }), this.#how);
    onAnswer();
    for await (const block of Body as Readable) {
      if (this.#signal.aborted) throw new AbortedError();
      if (check.bytes + (block as Buffer).length > content.bytes)
        throw damagedFile(this.#pathOf(name), `it has more than the ${content.bytes} bytes that it had`);
      await take(block as Buffer);
      check.add(block as Buffer);
    }
  }

  /** The first use finds out whether this is a store with that bucket, and what is secret. */
  async #use<T>(work: () => Promise<T>): Promise<T> {
    try {
      await this.#begin();
      return await work();
    } catch (error) {
      if (this.#signal.aborted) throw new AbortedError();
      throw s3Fault(error, this.#location);
    }
  }

  async #begin(): Promise<void> {
    // Those of a role are renewed every hour or so.
    const { secretAccessKey, sessionToken } = await this.#client.config.credentials();
    for (const secret of [secretAccessKey, sessionToken]) if (secret !== undefined) this.#onCredentials(secret);
    if (this.#connection.isKnown) return;
    const { Bucket, Key: Prefix } = this.#object('');
    const { IsTruncated } = await this.#client.send(
      new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 }),
      this.#how,
    );
    // Any web server answers 200; every store says whether there is more.
    if (IsTruncated === undefined) throw noStore(this.#location, 'its listing is none');
    this.#connection.isKnown = true;
  }
}

async function unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Ends a listing that a broken store repeats, or that never ends. */
const mostNames = 1_000_000;
const mostEmptyPages = 100;

class ListingBounds {
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
