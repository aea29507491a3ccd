/** The header Idempotency-Key: a request that is sent again starts nothing again (docs/design.md section 11). */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { findKeyedRun, type JobRequest, startKeyedRun, startRun } from '../../app/runs/start-run.ts';
import type { IdempotencyKey } from '../../core/run/run.ts';
import { callerOf } from '../admission.ts';
import { RequestProblem } from '../problem.ts';

/** For the description of a route; the header itself is read below. */
export const keyHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .optional()
    .describe('Up to 200 visible characters, of the client’s choice: the same request with the same key is done once'),
});

/** What a start answers with. */
export const startedDocument = z.object({
  runId: z.string(),
  job: z.string(),
  isRepeat: z.boolean().describe('Whether an earlier request with this key had started the run'),
});
type Started = z.output<typeof startedDocument>;

/**
 * The key of a request, or undefined without one; `body` is what it asks for, as JSON in the order of its schema. Throws
 * RequestProblem for a key that is none.
 */
export function keyOf(request: FastifyRequest, body: unknown): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(key)) {
    throw new RequestProblem(400, 'invalid-idempotency-key', 'an Idempotency-Key has 1 to 200 visible characters');
  }
  const { method, url } = request;
  return {
    client: callerOf(request).actor,
    route: `${method} ${url.split('?', 1)[0] ?? ''}`,
    key,
    bodySha256: createHash('sha256').update(JSON.stringify(body)).digest('hex'),
  };
}

/** Starts the run that `prepare` makes of the request, unless a request with its key has: then nothing is prepared. */
export async function startOnceByKey(
  app: App,
  request: FastifyRequest,
  body: unknown,
  prepare: () => Promise<JobRequest>,
): Promise<Started> {
  const key = keyOf(request, body);
  const known = key && (await findKeyedRun(app, key));
  if (known !== undefined) return { ...known, isRepeat: true };
  return startByKey(app, request, key, await prepare());
}

/** Starts a run for the caller. */
export async function startByKey(
  app: App,
  request: FastifyRequest,
  key: IdempotencyKey | undefined,
  asked: JobRequest,
): Promise<Started> {
  const requester = { actor: callerOf(request).actor, connection: 'prompt' } as const;
  if (key !== undefined) return startKeyedRun(app, asked, { ...requester, key });
  return { ...(await startRun(app, asked, requester)), isRepeat: false };
}
