/**
 * Bull Board under /queues: the raw queues, to look at. It changes nothing, for anybody: an item that is removed or tried
 * again behind the ledger's back would not be accounted for (G2). Runs are cancelled and retried on their own pages.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { rawQueuesOf } from '../app/serving.ts';
import type { ApiServer, ConsoleContext } from './context.ts';
import { replyWithError } from './pages/problem-page.tsx';
import { RequestProblem } from './problem.ts';

export const queueBoardPath = '/queues';

/** Its styles are written into its elements. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join(';');

/** Fonts from elsewhere: the browser has its own. */
const foreignLinks = /<link[^>]+href="https?:[^>]*>/g;

/** Throws UnreachableError('redis'). */
export async function addQueueBoard(server: ApiServer, context: ConsoleContext): Promise<void> {
  // The items of an embedded queue are those of a process: the runs are all that there is to look at.
  if (context.app.queueWay.kind === 'embedded') return;
  const raw = await rawQueuesOf(context.app.config);
  server.addHook('onClose', async () => raw.close());
  const board = new FastifyAdapter();
  board.setBasePath(queueBoardPath);
  createBullBoard({
    queues: raw.queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false })),
    serverAdapter: board,
    options: {
      uiBasePath: path.dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json')),
      uiConfig: { boardTitle: 'wellsync queues', boardLogo: { path: '/static/icon.svg' } },
    },
  });
  await server.register(
    async (scope) => {
      scope.addHook('preHandler', async ({ method }) => {
        if (method === 'GET') return;
        throw new RequestProblem(405, 'read-only', 'the queues are shown, and not changed here', {
          hint: 'Cancel or retry the run on its own page.',
        });
      });
      scope.addHook('onSend', async (_request, reply, payload) => {
        void reply.header('content-security-policy', contentSecurityPolicy);
        return typeof payload === 'string' ? payload.replaceAll(foreignLinks, '') : payload;
      });
      scope.addHook('onRoute', (route) => {
        // The board's own would answer 500 to a stranger.
        route.errorHandler = (error, request, reply) => replyWithError(error, { request, reply, context });
      });
      await scope.register(board.registerPlugin());
    },
    { prefix: queueBoardPath },
  );
}
