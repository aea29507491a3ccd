/** Decides which request meets which fault: one draw a request, out of a sequence that the seed repeats. */
import type { FaultKind, TestingServerOptions } from './options.ts';
import type { Random } from './random.ts';
import type { Reply } from './reply.ts';

/** Takes exactly one number from `random`, so that the sequence of faults depends on the order of requests alone. */
export function drawFault(
  random: Random,
  rates: TestingServerOptions['faults'],
  method: string,
): FaultKind | undefined {
  let draw = random();
  for (const [kind, share] of Object.entries(rates) as [FaultKind, number][]) {
    if (draw < share) return kind === 'resetAfterStoring' && method === 'GET' ? undefined : kind;
    draw -= share;
  }
  return undefined;
}

/** The answer of a fault that is an answer; undefined for those that break one. */
export function faultReply(kind: FaultKind, retryAfterSeconds: number): Reply | undefined {
  switch (kind) {
    case 'tooManyRequests':
      return {
        status: 429,
        contentType: 'application/json',
        body: '{"error":"too many requests"}',
        headers: { 'retry-after': String(retryAfterSeconds) },
      };
    case 'unavailable':
      return { status: 503, contentType: 'application/json', body: '{"error":"unavailable"}' };
    case 'htmlPage':
      return {
        status: 200,
        contentType: 'text/html',
        body: '<!doctype html><title>Sign in</title><p>Please sign in.</p>',
      };
    case 'reset':
    case 'resetAfterStoring':
    case 'truncatedBody':
      return undefined;
  }
}
