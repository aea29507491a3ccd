/** What every page of the console is served by: each reads, and asks the HTTP API for what changes something. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JSX } from 'preact';
import { z } from 'zod';
import { versionOfPackage } from '../../app/version.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import type { Reader } from './forms.tsx';
import { type Frame, pageOf, partOf, userOf } from './frame.tsx';
import { replyWithError } from './problem-page.tsx';

/** What a page is made of: the frame, and who reads it. */
interface Shown {
  readonly frame: Frame;
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
  readonly context: ConsoleContext;

  constructor(server: ApiServer, context: ConsoleContext) {
    this.server = server;
    this.context = context;
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
        const made = await page(await this.shown(request), asked, reply);
        if ('to' in made) return reply.redirect(made.to, 303);
        return reply.type('text/html; charset=utf-8').send(pageOf(made));
      },
    });
  }

  async shown(request: FastifyRequest): Promise<Shown> {
    const frame = await frameOf(this.context, request);
    return { frame, caller: callerIn(request), nowMs: Date.now() };
  }

  /** A part of a page, which its script asks for again and again, with the key of the page: its forms keep that key. */
  addPart(
    url: string,
    part: (
      request: FastifyRequest,
      caller: Reader,
    ) => Promise<{ readonly element: JSX.Element; readonly isEnded: boolean; readonly atMs?: number }>,
    /** Of the query beside the key. */
    query = z.object({}),
  ): void {
    this.server.route({
      method: 'GET',
      url,
      config: { access: 'read' },
      schema: { hide: true, querystring: query.extend({ key: z.uuid().optional() }) },
      handler: async (request, reply) => {
        const { element, isEnded, atMs = Date.now() } = await part(request, callerIn(request));
        const html = partOf(element);
        const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`;
        void reply.header('etag', etag).header('x-ended', String(isEnded));
        void reply.header('x-as-of', new Date(atMs).toISOString());
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

/** Where the data comes from and goes to, and who looks. */
const version = versionOfPackage();

async function frameOf({ app, reader }: ConsoleContext, request: FastifyRequest): Promise<Frame> {
  const { value } = await reader.read('service', () => app.ledger.ownership.read());
  const { location: warehouse } = app.warehouse;
  return { service: value.service, warehouse, version, nowMs: Date.now(), user: userOf(request) };
}
