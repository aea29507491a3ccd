/** The steps of one /api request: count, delay, fault, answer. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { sleep } from '../../timers/sleep.ts';
import { drawFault, faultReply } from '../faults/faults.ts';
import type { FaultKind } from '../options.ts';
import type { TestingState } from '../testing-state.ts';
import { answerApi, authorise } from './api.ts';
import type { PipeRefusal } from './bulk-pipes.ts';
import {
  compressed,
  errorReply,
  type Reply,
  RequestError,
  resetConnection,
  sendReply,
  sendTruncated,
} from './request-error.ts';
import type { Outcome } from './request-log.ts';
import { type ApiCall, apiCallOf, type Endpoint } from './routes.ts';

/** A request on arrival, as a test sees it. */
export interface ArrivedRequest {
  /** `unknown` for a path or method outside the interface. */
  readonly endpoint: Endpoint | 'unknown';
  /** Path parameters, decoded. */
  readonly parameters: readonly string[];
  readonly query: URLSearchParams;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** Called and awaited once for every /api request; a returned fault replaces the drawn one. */
export type RequestHook = (request: ArrivedRequest) => FaultKind | undefined | Promise<FaultKind | undefined>;

export interface ApiGate {
  readonly state: TestingState;
  readonly refusal: PipeRefusal;
  readonly onRequest: RequestHook | undefined;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
}

/** Serves one request. Never rejects: errors are answers too, a bug of the server as 500 with its stack. */
export async function serveApi(gate: ApiGate, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { log, options } = gate.state;
  response.once('close', log.arrive());
  const call = parsedCall(request);
  const endpoint = call instanceof RequestError ? 'unknown' : call.endpoint;
  const outcome = options.down ? cut(request) : await pass(gate, call, request, response);
  log.note(endpoint, { method: request.method ?? '', url: request.url ?? '', outcome });
}

function cut(request: IncomingMessage): Outcome {
  resetConnection(request);
  return 'reset';
}

async function pass(
  gate: ApiGate,
  call: ApiCall | RequestError,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Outcome> {
  const { state, onRequest } = gate;
  try {
    const drawn = drawFault(state.faultRandom, state.options.faults, request.method ?? '');
    if (state.options.latencyMs > 0) await sleep(state.options.latencyMs, { signal: gate.closing });
    const fault = (await onRequest?.(arrivedRequest(call, request))) ?? drawn;
    if (fault === 'reset') return cut(request);
    const reply = replyOfFault(fault, state) ?? (await answered(gate, call, request));
    return send(await compressed(reply, request, state.options), fault, request, response);
  } catch (error) {
    // The peer or the server itself is gone: an answer would reach nobody.
    if (request.socket.destroyed || gate.closing.aborted) return cut(request);
    return send(bugReply(error), undefined, request, response);
  }
}

function replyOfFault(fault: FaultKind | undefined, { options }: TestingState): Reply | undefined {
  return fault === undefined ? undefined : faultReply(fault, options.retryAfterSeconds);
}

async function answered(gate: ApiGate, call: ApiCall | RequestError, request: IncomingMessage): Promise<Reply> {
  try {
    authorise(request, gate.state.options.requiredToken);
    if (call instanceof RequestError) throw call;
    return await answerApi(call, request, gate.state, gate.refusal);
  } catch (error) {
    if (error instanceof RequestError) return errorReply(error);
    throw error;
  }
}

function send(reply: Reply, fault: FaultKind | undefined, request: IncomingMessage, response: ServerResponse): Outcome {
  if (fault === 'resetAfterStoring') return cut(request);
  if (fault === 'truncatedBody') {
    sendTruncated(response, reply);
    return 'truncated';
  }
  sendReply(response, reply);
  return reply.status;
}

export function bugReply(error: unknown): Reply {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { status: 500, contentType: 'text/plain; charset=utf-8', body: `fault of the testing server\n${stack}` };
}

function parsedCall(request: IncomingMessage): ApiCall | RequestError {
  try {
    return apiCallOf(request.method ?? '', request.url ?? '');
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

function arrivedRequest(call: ApiCall | RequestError, request: IncomingMessage): ArrivedRequest {
  const target =
    call instanceof RequestError
      ? { endpoint: 'unknown' as const, parameters: [], query: new URLSearchParams() }
      : call;
  return { ...target, method: request.method ?? '', url: request.url ?? '', headers: request.headers };
}
