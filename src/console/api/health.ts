/** What a load balancer asks: each route says its status and nothing else, to anybody (docs/design.md section 11); and metrics. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { expositionOf } from '../../app/health/metrics.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';

const text = z.string();

/** How long a verdict counts, so that strangers cannot make the parts busy. */
const verdictMs = 2_000;

export function addHealthRoutes(server: ApiServer, { app, stopping }: ConsoleContext): void {
  const exposition = expositionOf(app, 'prompt');
  let verdict: { readonly isReady: Promise<boolean>; readonly atMs: number } | undefined;
  const isReady = async (): Promise<boolean> => {
    const nowMs = performance.now();
    if (verdict === undefined || nowMs - verdict.atMs >= verdictMs) {
      verdict = { isReady: hasParts(), atMs: nowMs };
    }
    return !stopping.aborted && (await verdict.isReady);
  };
  /** Redis answers, and the warehouse is where it was; a file that is held for a while is no fault. */
  const hasParts = async (): Promise<boolean> => {
    try {
      await (await app.queue('prompt')).workers();
      return await app.warehouse.isStored();
    } catch {
      return false;
    }
  };
  server.route({
    method: 'GET',
    url: '/healthz',
    exposeHeadRoute: true,
    config: { access: 'anybody' },
    schema: { summary: 'Whether the process answers', response: { 200: text } },
    handler: async (_request, reply) => say(reply, true),
  });
  server.route({
    method: 'GET',
    url: '/readyz',
    exposeHeadRoute: true,
    config: { access: 'anybody' },
    schema: { summary: 'Whether Redis and the warehouse answer', response: { 200: text, 503: text } },
    handler: async (_request, reply) => say(reply, await isReady()),
  });
  server.route({
    method: 'GET',
    url: '/metrics',
    config: { access: 'read' },
    schema: { summary: 'Metrics of all processes and of this one, for Prometheus', response: { 200: text } },
    handler: async (_request, reply) => {
      const { text: body, contentType } = await exposition.read();
      return reply.type(contentType).serializer(String).send(body);
    },
  });
}

function say(reply: FastifyReply, isWell: boolean): FastifyReply {
  return reply
    .code(isWell ? 200 : 503)
    .type('text/plain; charset=utf-8')
    .serializer(String)
    .send(isWell ? 'ok\n' : 'not ready\n');
}
