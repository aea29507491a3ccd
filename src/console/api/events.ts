/** Server-sent events: what becomes of runs. Each stream costs a connection and little more, however many there are. */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Identity } from '../../app/access/access.ts';
import { RunEvents, type RunEvent } from '../../app/runs/run-events.ts';
import { callerOf } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { RequestProblem } from '../problem.ts';
import { problems } from './documents.ts';

/** How soon a client that lost its stream asks again. */
const retryMs = 3_000;

/** What a client may leave unread before its stream is ended: it comes back with the last id that it has read. */
const mostUnreadBytes = 256 * 1_024;

/** How often the callers of all streams are looked at: one that signed out, or whose token ended, hears no more after it. */
const checkMs = 2_000;

/** Streams of one token or user, however many of its pages and programs read them: it leaves those of others alone. */
const mostOfCaller = 20;

/** Probes of a connection whose client is gone without a word. */
const keepAliveMs = 30_000;

const eventHeaders = z.looseObject({
  'last-event-id': z.string().max(100).optional().describe('The id of the last event that was read'),
});

interface Stream {
  readonly identity: Identity;
  readonly response: ServerResponse;
}

export function addEventRoute(server: ApiServer, context: ConsoleContext): void {
  const { app, access, reader, stopping, beatMs } = context;
  const events = new RunEvents(app, reader);
  const streams = new Set<Stream>();
  const timer = setInterval(() => {
    for (const { identity, response } of streams) {
      if (access.isStill(identity)) continue;
      // A client that reads nothing keeps what was ended.
      if (response.writableEnded) response.destroy();
      else end(response, 'no longer let in');
    }
  }, checkMs);
  const beat = setInterval(() => {
    for (const { response } of streams) write(response, ': beat\n\n');
  }, beatMs);
  stopping.addEventListener('abort', () => {
    clearInterval(timer);
    clearInterval(beat);
    for (const { response } of streams) end(response, 'the server stops');
  });
  server.route({
    method: 'GET',
    url: '/api/v1/events',
    config: { access: 'read' },
    schema: {
      summary: 'What becomes of runs, as server-sent events: runs, run and fault',
      headers: eventHeaders,
      response: { 200: z.string(), ...problems(429, 503) },
    },
    handler: (request, reply) => {
      const identity = callerOf(request);
      const ofCaller = [...streams].filter((stream) => stream.identity.actor === identity.actor).length;
      if (ofCaller >= mostOfCaller) {
        const message = `${identity.actor} has ${ofCaller} streams open, and may have no more`;
        const hint = 'End those that nobody reads, or give each program a token of its own.';
        throw new RequestProblem(429, 'too-many-streams', message, { hint, retryAfterSeconds: 10 });
      }
      if (streams.size >= app.config.http.maxStreams) {
        throw new RequestProblem(503, 'busy', `${streams.size} streams are open`, { retryAfterSeconds: 10 });
      }
      const { raw: response } = reply;
      const stream = { identity, response };
      const lastId = request.headers['last-event-id'];
      void reply.hijack();
      request.socket.setKeepAlive(true, keepAliveMs);
      response.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...streamHeaders });
      response.write(`retry: ${retryMs}\n\n`);
      streams.add(stream);
      const leave = events.listen((event) => write(response, frameOf(event)), lastId);
      response.once('close', () => {
        streams.delete(stream);
        leave();
      });
    },
  });
}

/** No proxy may keep events back. */
const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  // A stream that ends is over for its client too.
  connection: 'close',
};

/** The text of an event is made once for all streams. */
const frames = new WeakMap<RunEvent, string>();

function frameOf(event: RunEvent): string {
  const known = frames.get(event);
  if (known !== undefined) return known;
  const { id, kind, data } = event;
  // JSON has no newline of its own.
  const frame = `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
  frames.set(event, frame);
  return frame;
}

function write(response: ServerResponse, text: string): void {
  if (response.writableEnded || response.destroyed) return;
  if (response.writableLength > mostUnreadBytes) response.destroy();
  else response.write(text);
}

/** The reason is a comment: a client that is still let in comes back by itself. */
function end(response: ServerResponse, reason: string): void {
  if (!response.writableEnded) response.end(`: ${reason}\n\n`);
}
