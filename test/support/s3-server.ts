/**
 * An S3-compatible store on 127.0.0.1 for the tests, over files of a temporary folder: objects with ranges, conditional
 * puts, listings, multipart uploads. It checks key, date and digest of every request, and does what goes wrong on request.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';

export interface S3Faults {
  /** Answers every request with this status and code. */
  refuse?: { readonly status: number; readonly code: string };
  /** Forgets this part of every upload when it is completed. */
  losePart?: number;
  /** Answers the upload of this part with 500. */
  failPart?: number;
  /** Never answers the upload of this part. */
  silentPart?: number;
  /** Ends the connection behind so many bytes of a body, so often. */
  cutBodies?: { readonly afterBytes: number; times: number };
  /** Sends bytes behind the end of every object, until the connection is closed. */
  endlessBodies?: boolean;
  /** Every listing goes on: with the same page, with the same names behind another mark, or with empty pages. */
  endlessListing?: 'page' | 'names' | 'empty';
  /** Sends nothing more: no answer at all, or the head of one. */
  silent?: 'head' | 'body';
  /** Knows no If-Match. */
  isUnconditional?: boolean;
  /** The clock of the store runs ahead. */
  skewMs?: number;
}

interface StoredObject {
  readonly file: string;
  readonly etag: string;
  readonly bytes: number;
  readonly changedAtMs: number;
}

interface OpenUpload {
  readonly key: string;
  readonly begunAtMs: number;
  readonly parts: Map<number, StoredObject>;
}

export interface S3Server extends AsyncDisposable {
  readonly endpoint: string;
  readonly bucket: string;
  readonly env: Readonly<Record<string, string>>;
  readonly faults: S3Faults;
  /** By key. */
  readonly objects: Map<string, StoredObject>;
  readonly uploads: ReadonlyMap<string, OpenUpload>;
  /** Method and address of every request. */
  readonly requests: readonly string[];
}

const accessKeyId = 'AKIDWELLSYNCTEST';
export const s3Secret = 'S3-secret-open-sesame';
const mostSkewMs = 15 * 60_000;

export async function startS3Server(bucket = 'wellsync-files'): Promise<S3Server> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-s3-'));
  const state = new S3State(folder, bucket);
  const server = createServer((request, response) => void state.answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: s3Secret, AWS_EC2_METADATA_DISABLED: 'true' };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket,
    env,
    faults: state.faults,
    objects: state.objects,
    uploads: state.uploads,
    requests: state.requests,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await rm(folder, { recursive: true });
    },
  };
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** A request, taken apart. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly key: string;
  readonly query: URLSearchParams;
}

class S3State {
  readonly faults: S3Faults = {};
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, OpenUpload>();
  readonly requests: string[] = [];
  readonly #folder: string;
  readonly #bucket: string;

  constructor(folder: string, bucket: string) {
    this.#folder = folder;
    this.#bucket = bucket;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`);
    if (this.faults.silent === 'head') return;
    try {
      const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://store');
      const [, bucket = '', ...names] = pathname.split('/').map(decodeURIComponent);
      this.#check(request);
      if (bucket !== this.#bucket) throw new Refusal(404, 'NoSuchBucket');
      await this.#route({ request, response, key: names.join('/'), query });
    } catch (error) {
      request.resume();
      if (error instanceof Refusal) refuse(response, error, request.method === 'HEAD');
      else response.destroy();
    }
  }

  #check({ headers }: IncomingMessage): void {
    const { refuse: refusal, skewMs = 0 } = this.faults;
    if (refusal !== undefined) throw new Refusal(refusal.status, refusal.code);
    if (headers.authorization === undefined) throw new Refusal(403, 'AccessDenied');
    if (!headers.authorization.includes(`Credential=${accessKeyId}/`)) throw new Refusal(403, 'InvalidAccessKeyId');
    const signedAt = String(headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5');
    if (Math.abs(Date.parse(signedAt) - Date.now() - skewMs) > mostSkewMs)
      throw new Refusal(403, 'RequestTimeTooSkewed');
  }

  async #route(asked: Asked): Promise<void> {
    const { request, response, key, query } = asked;
    const { method } = request;
    if (query.has('list-type')) this.#list(response, query);
    else if (query.has('uploads')) await (method === 'POST' ? this.#begin(asked) : this.#listUploads(asked));
    else if (query.has('uploadId')) await this.#ofUpload(asked, query.get('uploadId') ?? '');
    else if (method === 'PUT') await this.#put(asked);
    else if (method === 'DELETE') {
      this.objects.delete(key);
      response.writeHead(204).end();
    } else this.#read(asked);
  }

  async #put({ request, response, key }: Asked): Promise<void> {
    const stored = await this.#receive(request);
    const { 'if-none-match': ifNone, 'if-match': ifMatch } = request.headers;
    if (this.faults.isUnconditional === true && ifMatch !== undefined) throw new Refusal(501, 'NotImplemented');
    const isOther = ifMatch !== undefined && ifMatch !== this.objects.get(key)?.etag;
    if (isOther || (ifNone === '*' && this.objects.has(key))) throw new Refusal(412, 'PreconditionFailed');
    this.objects.set(key, stored);
    response.writeHead(200, { etag: stored.etag }).end();
  }

  /** The digest in the signed header is that of the body, as the protocol has it. */
  async #receive(request: IncomingMessage) {
    const file = path.join(this.#folder, randomUUID());
    const [sha, md5] = [createHash('sha256'), createHash('md5')];
    let bytes = 0;
    await pipeline(
      request,
      async function* (blocks: AsyncIterable<Buffer>) {
        for await (const block of blocks) {
          for (const hash of [sha, md5]) hash.update(block);
          bytes += block.length;
          yield block;
        }
      },
      createWriteStream(file),
    );
    const signed = String(request.headers['x-amz-content-sha256']);
    if (signed !== sha.digest('hex')) throw new Refusal(400, 'XAmzContentSHA256Mismatch');
    return { file, bytes, changedAtMs: Date.now(), etag: `"${md5.digest('hex')}"` };
  }

  #read({ request, response, key }: Asked): void {
    const stored = this.objects.get(key);
    if (stored === undefined) throw new Refusal(404, 'NoSuchKey');
    const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    if (start > 0 && start >= stored.bytes) throw new Refusal(416, 'InvalidRange');
    response.writeHead(first === undefined ? 200 : 206, {
      ...(!this.#isEndless(request) && { 'content-length': stored.bytes - start }),
      'last-modified': new Date(stored.changedAtMs).toUTCString(),
      etag: stored.etag,
    });
    if (request.method === 'HEAD') response.end();
    else if (this.faults.silent === 'body') response.flushHeaders();
    else if (this.#isEndless(request)) Readable.from(endless()).pipe(response);
    else this.#send(response, stored, start);
  }

  #isEndless({ method }: IncomingMessage): boolean {
    return method === 'GET' && this.faults.endlessBodies === true;
  }

  #send(response: ServerResponse, { file }: StoredObject, start: number): void {
    const { cutBodies } = this.faults;
    if (cutBodies === undefined || cutBodies.times === 0) {
      createReadStream(file, { start }).pipe(response);
      return;
    }
    cutBodies.times -= 1;
    createReadStream(file, { start, end: start + cutBodies.afterBytes - 1 })
      .on('end', () => setTimeout(() => response.destroy(), 20))
      .pipe(response, { end: false });
  }

  #list(response: ServerResponse, query: URLSearchParams): void {
    const prefix = query.get('prefix') ?? '';
    const after = this.faults.endlessListing === undefined ? (query.get('continuation-token') ?? '') : '';
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
    // Small pages, so that every listing has several.
    const { endlessListing } = this.faults;
    const page = endlessListing === 'empty' ? [] : keys.slice(0, 3);
    const contents = page.map((key) => {
      const { bytes, changedAtMs } = this.objects.get(key) ?? { bytes: 0, changedAtMs: 0 };
      return `<Contents><Key>${key}</Key><Size>${bytes}</Size><LastModified>${new Date(changedAtMs).toISOString()}</LastModified></Contents>`;
    });
    const mark =
      endlessListing === undefined ? page.at(-1) : endlessListing === 'page' ? '!' : `-${this.requests.length}`;
    const next =
      keys.length > page.length || endlessListing !== undefined
        ? `<NextContinuationToken>${mark}</NextContinuationToken>`
        : '';
    xml(response, 'ListBucketResult', `<IsTruncated>${next !== ''}</IsTruncated>${next}${contents.join('')}`);
  }

  async #begin({ response, key }: Asked): Promise<void> {
    const id = randomUUID();
    this.uploads.set(id, { key, begunAtMs: Date.now(), parts: new Map() });
    xml(response, 'InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`);
  }

  async #listUploads({ response, query }: Asked): Promise<void> {
    const prefix = query.get('prefix') ?? '';
    const uploads = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
    const found = uploads.map(
      ([id, { key, begunAtMs }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${new Date(begunAtMs).toISOString()}</Initiated></Upload>`,
    );
    xml(response, 'ListMultipartUploadsResult', `<IsTruncated>false</IsTruncated>${found.join('')}`);
  }

  async #ofUpload({ request, response, query }: Asked, id: string): Promise<void> {
    const upload = this.uploads.get(id);
    if (upload === undefined) throw new Refusal(404, 'NoSuchUpload');
    if (request.method === 'DELETE') {
      this.uploads.delete(id);
      response.writeHead(204).end();
    } else if (request.method === 'PUT') {
      const number = Number(query.get('partNumber'));
      const part = await this.#receive(request);
      if (this.faults.silentPart === number) return;
      if (this.faults.failPart === number) throw new Refusal(500, 'InternalError');
      upload.parts.set(number, part);
      response.writeHead(200, { etag: part.etag }).end();
    } else {
      await this.#complete(upload, await text(request));
      this.uploads.delete(id);
      xml(response, 'CompleteMultipartUploadResult', `<Key>${upload.key}</Key>`);
    }
  }

  async #complete({ key, parts }: OpenUpload, body: string): Promise<void> {
    const named = [...body.matchAll(/<PartNumber>(\d+)</g)].map(([, number]) => Number(number));
    const found = named.map((number) => parts.get(number));
    if (found.length === 0 || found.includes(undefined)) throw new Refusal(400, 'InvalidPart');
    const kept = found.filter((_, index) => named[index] !== this.faults.losePart);
    const file = path.join(this.#folder, randomUUID());
    const blocks = async function* () {
      for (const part of kept) yield* createReadStream(part?.file ?? '');
    };
    await pipeline(blocks(), createWriteStream(file));
    const etag = `"${randomUUID()}-${kept.length}"`;
    this.objects.set(key, { file, etag, bytes: (await stat(file)).size, changedAtMs: Date.now() });
  }
}

async function* endless(): AsyncGenerator<Buffer, void, undefined> {
  for (;;) yield Buffer.alloc(1024 * 1024, 'x');
}

function xml(response: ServerResponse, root: string, inner: string): void {
  response
    .writeHead(200, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0"?><${root}>${inner}</${root}>`);
}

function refuse(response: ServerResponse, { status, code }: Refusal, isHead: boolean): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(isHead ? undefined : `<?xml version="1.0"?><Error><Code>${code}</Code><Message>told</Message></Error>`);
}
