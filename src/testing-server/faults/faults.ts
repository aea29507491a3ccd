/** Draws the fault of each request from a seeded sequence. */
import type { FaultKind, TestingServerOptions } from '../options.ts';
import type { Random } from '../data/random.ts';
import type { Reply } from '../api/request-error.ts';

/** Takes exactly one number from `random`, so that the sequence of faults depends only on the order of requests. */
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

/** The reply of a fault that is an answer; undefined for a fault that breaks the answer. */
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
