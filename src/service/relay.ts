/**
 * Reads that a command hands to the process that works the warehouse, so that nothing else of its host sends requests (G9): a
 * request goes there, and the answer comes back as it came, whatever its status. The command reads it, and tries again.
 */
import { z } from 'zod';
import type { Action } from '../core/base/action.ts';
import {
  AbortedError,
  AccessError,
  PermanentError,
  ServiceHoldError,
  TakenOverError,
  TransientError,
  UnreachableError,
  UsageError,
  faultOf,
} from '../core/base/errors.ts';
import { Secrets } from '../core/base/secrets.ts';
import type { ServiceIdentity } from '../core/base/service-key.ts';
import type { RequestRetryPolicy } from '../core/run/retry-decision.ts';
import { type BodyRoom, textBody } from './answer-body.ts';
import { callsOver, type Sender } from './create-service.ts';
import type { ServiceRequest } from './http-exchange.ts';
import type { ProductionDataService } from './production-data-service.ts';
import {
  classified,
  labelOf,
  newCall,
  reading,
  retried,
  type Send,
  type ServiceDependencies,
} from './request-layer.ts';
import { parseBaseUrl } from './settings.ts';

/** A read: nothing is changed at the service but by a run. `service`: which one the command means. */
const requestSchema = z.strictObject({
  service: z.strictObject({ key: z.string().max(2_000), address: z.string().max(2_000) }),
  endpoint: z.string().regex(/^[a-z-]{1,40}$/),
  path: z.string().regex(/^\/[^/\s][^\s]*$/),
  accept: z.string().max(200),
  about: z.record(z.string(), z.string()).optional(),
});

const answerSchema = z.strictObject({
  status: z.int(),
  contentType: z.string().nullable(),
  contentRange: z.string().nullable(),
  retryAfter: z.string().nullable(),
  body: z.string(),
  hasToken: z.boolean(),
});

/** Why there is no answer, as an error of a request: those of other classes are faults of the program. */
const faultSchema = z.strictObject({
  name: z.enum(['transient', 'hold', 'permanent', 'access', 'usage', 'unreachable', 'bug']),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  action: z.custom<Action>((value) => typeof value === 'object').optional(),
  serviceDown: z.boolean(),
});

const relayedSchema = z.union([z.strictObject({ answer: answerSchema }), z.strictObject({ fault: faultSchema })]);

type Relayed = z.infer<typeof relayedSchema>;

/** Asks the working process. Throws UnreachableError where it has ended, AbortedError when the signal aborts. */
export type AskWorker = (request: unknown, signal: AbortSignal) => Promise<unknown>;

/** Answers a request of another process: `reply` is called with what came, while its body has its room. */
export type AnswerRelayed = (
  request: unknown,
  signal: AbortSignal,
  reply: (relayed: unknown) => Promise<void>,
) => Promise<void>;

// In the working process.

/**
 * Throws for what is no request that a command sends. `checkService` throws where a command means another service than that of
 * the warehouse.
 */
export function answeringRelayed(
  { send, openRoom, secrets }: Sender,
  checkService: (service: ServiceIdentity) => Promise<void>,
): AnswerRelayed {
  return async (request, signal, reply) => {
    const { about, service, ...read } = requestSchema.parse(request);
    const call = newCall({ signal }, openRoom());
    const checked: Send = async (...given) => {
      await checkService(service);
      return send(...given);
    };
    try {
      await reply(await relayed(checked, { ...read, method: 'GET', ...(about && { about }) }, call, secrets));
    } catch (error) {
      // This process ends: the next one is asked, once the connection has ended with it.
      if (!(error instanceof AbortedError)) throw error;
    } finally {
      call.room.close();
    }
  };
}

/** The command does not know the token of this process, which an answer may repeat (G10). */
async function relayed(
  send: Send,
  request: ServiceRequest,
  call: Parameters<Send>[1],
  secrets: Secrets,
): Promise<Relayed> {
  try {
    const { answer, context, error } = await send(request, call);
    const { status, contentType, contentRange, retryAfter } = answer;
    const text = answer.body.text();
    const body = error === undefined ? secrets.hideIn(text) : secrets.hideInForeign(text);
    return { answer: { status, contentType, contentRange, retryAfter, hasToken: context.hasToken, body } };
  } catch (error) {
    if (error instanceof AbortedError || error instanceof TakenOverError) throw error;
    const serviceDown = error instanceof TransientError && error.serviceDown;
    return { fault: { ...faultOf(error), name: nameOf(error), serviceDown } };
  }
}

function nameOf(error: unknown): z.infer<typeof faultSchema>['name'] {
  if (error instanceof TransientError) return 'transient';
  if (error instanceof ServiceHoldError) return 'hold';
  if (error instanceof PermanentError) return 'permanent';
  if (error instanceof UsageError) return 'usage';
  if (error instanceof UnreachableError) return 'unreachable';
  return error instanceof AccessError ? 'access' : 'bug';
}

// In the command.

/** The service through the working process. Its calls that change something throw: a run makes them. */
export function createRelayedService(
  settings: { readonly identity: ServiceIdentity; readonly baseUrl: string; readonly retry: RequestRetryPolicy },
  ask: AskWorker,
  dependencies: Pick<ServiceDependencies, 'secrets' | 'onRetry' | 'onUndeclaredStatus'> = {},
): ProductionDataService {
  const { secrets = new Secrets() } = dependencies;
  const { origin, prefix } = parseBaseUrl(settings.baseUrl);
  const read = reading(classified(askedOf(ask, settings.identity, secrets), Date.now), dependencies);
  return callsOver(
    async (request, reader, options = {}) =>
      retried(read(reader), settings.retry, dependencies)(request, newCall(options, noRoom)),
    { baseUrl: `${origin}${prefix}`, secrets, now: Date.now, close: async () => undefined },
  );
}

/** The working process has the room of the body. */
const noRoom: BodyRoom = {
  grow: () => true,
  block: () => Buffer.alloc(0),
  turn: async () => undefined,
  close: () => undefined,
};

function askedOf(ask: AskWorker, service: ServiceIdentity, secrets: Secrets): Send {
  return async ({ method, endpoint, path, accept, about }, call) => {
    if (method !== 'GET') throw new TypeError(`${method} ${path}: only a run changes something at the service`);
    const label = labelOf({ method, path });
    call.options.onAttempt?.();
    const sentAtMs = performance.now();
    const found = relayedSchema.parse(
      await ask({ service, endpoint, path, accept, ...(about && { about }) }, call.signal),
    );
    if ('fault' in found) throw errorOf(found.fault);
    call.elapsedMs += performance.now() - sentAtMs;
    const { hasToken, body, ...answer } = found.answer;
    const context = { label, isRead: true, hasToken, secrets };
    return { answer: { ...answer, body: textBody(body) }, context, token: undefined };
  };
}

function errorOf({ name, code, message, hint, action, serviceDown }: z.infer<typeof faultSchema>): Error {
  const details = { ...(hint === undefined ? {} : { hint }), ...(action === undefined ? {} : { action }) };
  switch (name) {
    case 'transient':
      return new TransientError(code, message, { ...details, serviceDown });
    case 'hold':
      return new ServiceHoldError(message, details);
    case 'permanent':
      return new PermanentError(code, message, details);
    case 'access':
      return new AccessError(code, message, details);
    case 'unreachable':
      return new UnreachableError('warehouse', message, details);
    case 'usage':
      return new UsageError(message, details);
    case 'bug':
      return new Error(`the process that works the warehouse: ${message}`);
  }
}
