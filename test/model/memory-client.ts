/** The client of a service in memory, with all of its layers above HTTP. */
import { AbortedError, TransientError } from '../../src/core/base/errors.ts';
import { Secrets } from '../../src/core/base/secrets.ts';
import { textBody } from '../../src/service/answer-body.ts';
import { errorOfAnswer } from '../../src/service/classification.ts';
import { callsOver, type MakeCall } from '../../src/service/create-service.ts';
import type { ServiceRequest } from '../../src/service/http-exchange.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import type { Pace } from './world.ts';

export const baseUrl = 'http://truth.invalid/api';

/** No message, row, queue item or log may show it (G10). */
export const token = 'token-that-nobody-may-see';

/** `lost`: the service has done it, and its answer never comes. */
export type GivenAnswer = { readonly status: number; readonly text: string } | 'lost';

interface MemoryCalls {
  /** When a call begins, in the turn of whoever makes it. */
  readonly onCall?: (request: ServiceRequest, runId: string) => void;
  /** When the answer is there, in the turn of whoever waits for it; undefined for a lost one. */
  readonly onAnswer?: (request: ServiceRequest, runId: string, status: number | undefined) => void;
  /** Requests of a call; one by default. */
  readonly attempts?: number;
}

/** `pace` makes a request wait: before the service has it, and before its answer is back. */
export function memoryClient(
  pace: Pace,
  answerTo: (request: ServiceRequest, runId: string) => GivenAnswer | Promise<GivenAnswer>,
  { onCall, onAnswer, attempts = 1 }: MemoryCalls = {},
): ProductionDataService {
  const secrets = new Secrets();
  secrets.add(token);
  const once: MakeCall = async (request, read, options = {}) => {
    const { signal, runId = '' } = options;
    const wait = async (what: string): Promise<void> => {
      await pace(`${request.method} ${request.path} is ${what}`);
      if (signal?.aborted === true) throw new AbortedError();
    };
    await wait('sent');
    options.onAttempt?.();
    const given = await answerTo(request, runId);
    if (given !== 'lost') options.onAnswer?.(given.status);
    await wait('answered');
    onAnswer?.(request, runId, given === 'lost' ? undefined : given.status);
    if (given === 'lost') throw new TransientError('timeout', `${request.path} was not answered in full`);
    const headers = { contentType: 'application/json', contentRange: null, retryAfter: null };
    const answer = { status: given.status, ...headers, body: textBody(given.text) };
    const context = { label: request.path, isRead: request.method === 'GET', hasToken: true, secrets };
    const error = errorOfAnswer(answer, context, 0);
    if (error !== undefined) throw error;
    return read(answer, context);
  };
  const call: MakeCall = async (request, read, options = {}) => {
    onCall?.(request, options.runId ?? '');
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(request, read, options);
      } catch (error) {
        if (attempt >= attempts || !(error instanceof TransientError)) throw error;
        options.onRetry?.(error);
      }
    }
  };
  return callsOver(call, { baseUrl, secrets, now: Date.now, close: async () => undefined });
}
