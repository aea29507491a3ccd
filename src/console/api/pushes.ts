/** The upload of a file of network pipes: kept by its content, then pushed by a run. */
import { rm } from 'node:fs/promises';
import { pipeline, type Readable, Transform, type TransformCallback } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { NotAdmittedError } from '../../app/access/access.ts';
import { type PreparedPush, preparePush } from '../../app/pushes/push.ts';
import { findKeyedRun } from '../../app/runs/start-run.ts';
import { bytesText } from '../../core/base/text.ts';
import { after, type Timer } from '../../timers/sleep.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { problems } from './documents.ts';
import { keyHeaders, keyOf, startByKey, startedDocument } from './idempotency.ts';

const megabyte = 1_000_000;

/** Uploads at a time: each may take as much of the disk as its limit says. */
const mostUploads = 4;

/** Of one token or user: one place is left to others. */
const mostOfCaller = 3;

/** Rows of pipes pack to a fifth or a twentieth, those with long lists of one number to a 417th; line ends to a thousandth. */
const mostUnpackedTimes = 600;

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

const pushQuery = z.strictObject({
  name: z
    .string()
    .regex(/^\P{Cc}{1,200}$/u, 'may hold up to 200 characters, and no control character')
    .default('upload.csv')
    .describe('What messages call the file'),
  form: z.enum(['auto', 'wide', 'long']).default('auto'),
  delimiter: z.string().length(1).optional(),
  chunkItems: z.coerce.number().int().min(1).max(1_000_000).optional(),
  ignoreUnknownColumns: flag,
  again: flag.describe('Pushes a content that has been pushed before'),
  corrects: z.string().max(100).optional().describe('A run whose rejected rows the file has, corrected'),
  allowEmpty: flag.describe('Whether the file may hold its header alone'),
  dryRun: flag.describe('Checks the whole file, and sends and keeps nothing'),
});
type PushQuery = z.output<typeof pushQuery>;

const pushedDocument = z.object({
  runId: z.string(),
  state: z.literal('already-pushed'),
  at: z.string(),
  sha256: z.string(),
});

const lookedDocument = z.object({
  file: z.string(),
  dryRun: z.literal(true),
  counts: z.record(z.string(), z.number()),
  balance: z.object({ balanced: z.boolean(), statement: z.string() }),
  notices: z.array(z.string()).readonly(),
  sha256: z.string(),
});

export async function addPushRoutes(server: ApiServer, context: ConsoleContext): Promise<void> {
  // Here alone a body is left to its route, and here nothing else is read: of another type it is 415.
  await server.register(async (scope) => {
    const own = scope.withTypeProvider<ZodTypeProvider>();
    takeStreams(own);
    addUpload(own, context);
  });
}

function addUpload(server: ApiServer, context: ConsoleContext): void {
  const uploads: string[] = [];
  server.route({
    method: 'POST',
    url: '/api/v1/pushes',
    config: { access: 'operate', isUpload: true },
    schema: {
      summary: 'Uploads a file of network pipes (text/csv, or packed as application/gzip) and pushes it',
      consumes: ['text/csv', 'application/gzip', 'application/octet-stream'],
      headers: keyHeaders,
      querystring: pushQuery,
      response: {
        200: z.union([pushedDocument, lookedDocument]),
        202: startedDocument.extend({ sha256: z.string() }),
        ...problems(400, 401, 408, 413, 415, 422, 429, 503),
      },
    },
    handler: async (request, reply) => {
      const caller = callerOf(request);
      const { actor } = caller;
      if (uploads.length >= mostUploads) {
        throw new RequestProblem(503, 'busy', `${mostUploads} uploads are under way`, { retryAfterSeconds: 10 });
      }
      if (uploads.filter((each) => each === actor).length >= mostOfCaller) {
        const message = `${mostOfCaller} uploads of ${actor} are under way`;
        throw new RequestProblem(429, 'too-many-uploads', message, { retryAfterSeconds: 10 });
      }
      uploads.push(actor);
      try {
        await using push = await received(request, context, whileOpen(reply));
        if (!context.access.isStill(caller)) throw notAdmittedAnyMore();
        if (request.query.dryRun) return await reply.code(200).send(await lookedThrough(push));
        const answer = await startPush(push, request, context);
        if (answer.state !== undefined) return await reply.code(200).send(answer);
        return await reply.code(202).header('location', `/api/v1/runs/${answer.runId}`).send(answer);
      } finally {
        uploads.splice(uploads.indexOf(actor), 1);
      }
    },
  });
}

/** The body of these types is left to the route, whatever its length, and no other one is taken. */
function takeStreams(server: ApiServer): void {
  server.removeAllContentTypeParsers();
  const types = ['text/csv', 'application/gzip', 'application/octet-stream'];
  server.addContentTypeParser(types, (_request, payload, done) => done(null, payload));
}

/** Aborts when the client is gone before it has its answer: its file is checked for nobody. */
function whileOpen({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => gone.abort());
  return gone.signal;
}

type Upload = FastifyRequest<{ Querystring: unknown }> & { readonly query: PushQuery };

/** The file as it lies on this host, checked to its first rows. Disposing it removes the copy, unless a run needs it. */
async function received(
  request: Upload,
  { app: { config } }: ConsoleContext,
  signal: AbortSignal,
): Promise<PreparedPush> {
  const maxBytes = config.http.maxUploadMb * megabyte;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLong(maxBytes);
  const { body } = request;
  if (body === undefined || body === null) {
    throw new RequestProblem(400, 'no-body', 'the request has no body: send the file as text/csv');
  }
  const meter = new UploadMeter(maxBytes);
  // Whoever reads the meter is told of the fault of either.
  pipeline(body as Readable, meter, () => undefined);
  const { name, form, delimiter, chunkItems, ignoreUnknownColumns, again, corrects, allowEmpty } = request.query;
  const unpacking = { maxBytes: config.http.maxUnpackedMb * megabyte, maxTimes: mostUnpackedTimes };
  const asked = {
    file: '-',
    name,
    unpacking,
    signal,
    form,
    delimiter,
    chunkItems,
    ignoreUnknownColumns,
    isAgain: again,
    corrects,
    allowsEmpty: allowEmpty,
    withTopology: false,
  };
  try {
    return await preparePush(asked, meter, config);
  } finally {
    meter.destroy();
  }
}

/** An upload may take hours, in which a token is removed, or its role lowered. */
function notAdmittedAnyMore(): NotAdmittedError {
  const message = 'who sends this upload is no longer let in as when it began: nothing was started';
  return new NotAdmittedError('no-longer-admitted', message, {
    hint: 'Its token or session has ended, or its role was lowered, while the upload came.',
  });
}

/** The rejected rows are in the notices: the copy is gone with the answer. */
async function lookedThrough(push: PreparedPush): Promise<z.output<typeof lookedDocument>> {
  const { counts, balance, notices, rejectsFile } = await push.dryRun();
  if (rejectsFile !== undefined) await rm(rejectsFile, { force: true });
  return { file: push.name, dryRun: true, counts, balance, notices, sha256: push.sha256 };
}

async function startPush(push: PreparedPush, request: Upload, { app }: ConsoleContext) {
  const { sha256 } = push;
  const key = keyOf(request, { query: request.query, sha256 });
  const earlier = key && (await findKeyedRun(app, key));
  if (earlier !== undefined) return { ...earlier, isRepeat: true, sha256 };
  const known = await push.findKnown(app);
  if (known?.state === 'done') {
    const { runId, atMs } = known;
    return { runId, state: 'already-pushed' as const, at: new Date(atMs).toISOString(), sha256 };
  }
  const { runId, job, isRepeat } = await push.start(app, await push.notices(), async (name, params) => {
    const started = await startByKey(app, request, key, { job: name, params });
    // The run of an earlier request has a copy of its own.
    return { ...started, kind: started.isRepeat ? ('under-way' as const) : ('started' as const) };
  });
  return { runId, job, isRepeat, sha256 };
}

// Bounds an upload: its length, and how slowly it may come.

/**
 * What a client must send within each half minute, some 130 kbit a second: one that sends by drops would hold a file, and
 * a place among the uploads, for days.
 */
const leastBytes = 500_000;
const spanMs = 30_000;

/** Passes bytes on; fails with RequestProblem when there are more than `maxBytes`, or they come too slowly. */
export class UploadMeter extends Transform {
  readonly #maxBytes: number;
  #bytes = 0;
  #ofThisSpan = 0;
  #timer: Timer;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
    this.#timer = this.#watch();
  }

  #watch(): Timer {
    return after(spanMs, () => {
      // Where bytes lie here, the disk is slow, and not the client.
      const isClientSlow = this.#ofThisSpan < leastBytes && this.readableLength === 0;
      if (isClientSlow && !this.readableEnded) {
        this.destroy(tooSlow());
        return;
      }
      this.#ofThisSpan = 0;
      this.#timer = this.#watch();
    });
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    this.#ofThisSpan += chunk.length;
    if (this.#bytes > this.#maxBytes) done(tooLong(this.#maxBytes));
    else done(null, chunk);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#timer.cancel();
    done(error);
  }
}

function tooSlow(): RequestProblem {
  const message = `the upload sent less than ${bytesText(leastBytes)} within ${spanMs / 1_000} s: nothing was started`;
  return new RequestProblem(408, 'upload-too-slow', message, {
    hint: 'Send it again: packed by gzip, in parts, or by a better connection.',
  });
}

function tooLong(maxBytes: number): RequestProblem {
  return new RequestProblem(413, 'upload-too-long', `the upload has more than ${maxBytes} bytes: nothing was started`, {
    hint: 'Push it in parts, packed by gzip, or raise http.maxUploadMb.',
  });
}
