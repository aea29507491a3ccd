/** What every page of the console is served by: each reads, and asks the HTTP API for what changes something. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JSX } from 'preact';
import { z } from 'zod';
import { versionOfPackage } from '../../app/version.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import type { Reader } from './forms.tsx';
import { type Frame, pageOf, partOf } from './frame.tsx';
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
  readonly page: (
    shown: Shown,
    asked: { readonly params: Params; readonly query: Query; readonly request: FastifyRequest },
    reply: FastifyReply,
  ) => Promise<JSX.Element>;
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
        return reply.type('text/html; charset=utf-8').send(pageOf(made));
      },
    });
  }

  async shown(request: FastifyRequest): Promise<Shown> {
    const frame = await frameOf(this.context, request);
    const { key: pageKey = randomUUID() } = request.query as { readonly key?: string };
    return { frame, caller: { role: callerOf(request).role, pageKey }, nowMs: Date.now() };
  }

  /** A part of a page, which its script asks for again and again, with the key of the page: its forms keep that key. */
  addPart(
    url: string,
    part: (request: FastifyRequest) => Promise<{ element: JSX.Element; isEnded: boolean }>,
    /** Of the query beside the key. */
    query = z.object({}),
  ): void {
    this.server.route({
      method: 'GET',
      url,
      config: { access: 'read' },
      schema: { hide: true, querystring: query.extend({ key: z.uuid().optional() }) },
      handler: async (request, reply) => {
        const { element, isEnded } = await part(request);
        const html = partOf(element);
        const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`;
        void reply.header('etag', etag).header('x-ended', String(isEnded));
        if (request.headers['if-none-match'] === etag) return reply.code(304).send();
        return reply.type('text/html; charset=utf-8').send(html);
      },
    });
  }
}

/** Where the data comes from and goes to, and who looks. */
const version = versionOfPackage();

async function frameOf({ app, reader }: ConsoleContext, request: FastifyRequest): Promise<Frame> {
  const { value } = await reader.read('service', () => app.ledger.ownership.read());
  const { identity } = request;
  const user =
    identity === null || identity.kind === 'loopback'
      ? undefined
      : { name: identity.name, role: identity.role, mayLeave: identity.session !== undefined };
  return { service: value.service, warehouse: app.warehouse.location, version, nowMs: Date.now(), user };
}
