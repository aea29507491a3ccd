/** What every page of the console is served by: each reads, and asks the HTTP API for what changes something. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JSX } from 'preact';
import { z } from 'zod';
import { shownServiceOf } from '../../app/service/service-settings.ts';
import { versionOfPackage } from '../../app/version.ts';
import { type LastKnownReader, ReadsOfPage } from '../../app/warehouse/last-known.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { type Delivered, deliveredOf, type Reader } from './forms.tsx';
import { type Frame, pageOf, partOf, replyWithError, userOf } from './frame.tsx';

/** What a page is made of: the frame, and who reads it. */
interface Shown {
  readonly frame: Frame;
  /** By which the page reads the warehouse: the frame says of when it is. */
  readonly reader: ReadsOfPage;
  readonly caller: Reader;
  readonly nowMs: number;
}

interface PageRoute<Params, Query> {
  readonly url: string;
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** A page, or the address that it leads on to. */
  readonly page: (
    shown: Shown,
    asked: { readonly params: Params; readonly query: Query; readonly request: FastifyRequest },
    reply: FastifyReply,
  ) => Promise<JSX.Element | { readonly to: string }>;
}

/** Adds pages to a server. */
export class Pages {
  readonly server: ApiServer;
  /** What its pages, and their scripts, read by: it shows what is known of a warehouse that is away. */
  readonly context: ConsoleContext;
  readonly #reader: LastKnownReader;

  constructor(server: ApiServer, context: ConsoleContext, reader: LastKnownReader) {
    this.server = server;
    this.context = { ...context, reader };
    this.#reader = reader;
  }

  add<Params = unknown, Query = unknown>({ url, params, query, page }: PageRoute<Params, Query>): void {
    this.server.route({
      method: 'GET',
      url,
      config: { access: 'read' },
      schema: {
        hide: true,
        ...(params === undefined ? {} : { params }),
        ...(query === undefined ? {} : { querystring: query }),
      },
      errorHandler: (error, request, reply) => replyWithError(error, { request, reply, context: this.context }),
      handler: async (request, reply) => {
        const asked = { params: request.params as Params, query: request.query as Query, request };
        const reader = new ReadsOfPage(this.#reader);
        const shown = {
          frame: await frameOf(this.context, reader, request),
          reader,
          caller: callerIn(request),
          nowMs: Date.now(),
        };
        const made = await page(shown, asked, reply);
        if ('to' in made) return reply.redirect(made.to, 303);
        return reply.type('text/html; charset=utf-8').send(pageOf(made, saidOf(reader, reply)));
      },
    });
  }

  /** A part of a page, which its script asks for again and again, with the key of the page: its forms keep that key. */
  addPart(
    url: string,
    part: (
      shown: Pick<Shown, 'reader' | 'caller'>,
      request: FastifyRequest,
    ) => Promise<{ readonly element: JSX.Element; readonly isEnded: boolean }>,
    /** Of the query beside the key. */
    query = z.object({}),
  ): void {
    this.server.route({
      method: 'GET',
      url,
      config: { access: 'read' },
      schema: { hide: true, querystring: query.extend({ key: z.uuid().optional() }) },
      handler: async (request, reply) => {
        const reader = new ReadsOfPage(this.#reader);
        const { element, isEnded } = await part({ reader, caller: callerIn(request) }, request);
        const html = partOf(element, saidOf(reader, reply));
        const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`;
        void reply.header('etag', etag).header('x-ended', String(isEnded));
        if (request.headers['if-none-match'] === etag) return reply.code(304).send();
        return reply.type('text/html; charset=utf-8').send(html);
      },
    });
  }
}

/** Who reads, with the key of the page. */
function callerIn(request: FastifyRequest): Reader {
  const { key: pageKey = randomUUID() } = request.query as { readonly key?: string };
  return { role: callerOf(request).role, pageKey };
}

/** How old what was read is, for the page, and by headers for its script. */
function saidOf(reads: ReadsOfPage, reply: FastifyReply): Delivered {
  const delivered = deliveredOf(reads);
  void reply.header('x-as-of', new Date(delivered.asOfMs).toISOString());
  if (delivered.away !== '') void reply.header('x-away', encodeURIComponent(delivered.away));
  return delivered;
}

const version = versionOfPackage();

/** Where the data comes from and goes to, and who looks; the service is that of the configuration where no other is known. */
async function frameOf({ app }: ConsoleContext, reads: ReadsOfPage, request: FastifyRequest): Promise<Frame> {
  const owner = await reads.readAside(['service'], () => app.ledger.ownership.read());
  const service = owner?.service ?? (reads.fault === undefined ? undefined : (shownServiceOf(app.config) ?? null));
  return { service, warehouse: app.warehouse.location, version, user: userOf(request) };
}
