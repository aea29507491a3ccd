/** The paths under /testing, with which tests and operators inspect and change the server. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { TestingState } from '../testing-state.ts';
import { authorise } from './api.ts';
import { jsonReply, readBody, type Reply, RequestError } from './request-error.ts';

type Answer = (state: TestingState, body: string) => unknown;

/** Handlers by path, then by method. Each answers JSON. */
const controls: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
  '/testing/state': { GET: (state) => state.describe() },
  '/testing/pipes': { GET: (state) => state.pipes() },
  '/testing/deletions': { GET: (state) => state.deletions() },
  '/testing/requests': { GET: (state) => state.requests() },
  '/testing/daily': { POST: (state, body) => state.changeDaily(body) },
  '/testing/options': { PATCH: changeOptions, POST: changeOptions },
  '/testing/reset': {
    POST: (state) => {
      state.reset();
      return state.describe();
    },
  },
};

/** Rows of daily production in one change; a larger change is sent in parts. */
const maxBodyBytes = 16 * 1024 * 1024;

/**
 * Throws RequestError: 403 for a request from elsewhere, 404 for an unknown path, 405 for a wrong method, 401 without
 * the token for a change, 400 or 413 for a body.
 */
export async function answerControl(request: IncomingMessage, state: TestingState): Promise<Reply> {
  refuseForeign(request);
  const path = (request.url ?? '').replace(/\?.*$/, '');
  const answers = Object.hasOwn(controls, path) ? controls[path] : undefined;
  if (answers === undefined) {
    throw new RequestError(404, `there is no ${path}; besides /api there are ${Object.keys(controls).join(', ')}`);
  }
  const answer = answers[request.method ?? ''];
  const allow = Object.keys(answers).join(', ');
  if (answer === undefined) throw new RequestError(405, `${path} takes ${allow}`, { allow });
  if (request.method !== 'GET') authorise(request, state.options.requiredToken);
  return jsonReply(answer(state, await readBody(request, maxBodyBytes)));
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/**
 * A page of another site can have a browser send requests here: with the site's name as Host (DNS rebinding), or with its
 * Origin.
 */
function refuseForeign({ headers: { host = '', origin } }: IncomingMessage): void {
  const isOwn = loopback.test(host) && (origin === undefined || origin === `http://${host}`);
  if (!isOwn) throw new RequestError(403, 'the paths under /testing are for this machine alone: ask at 127.0.0.1');
}

function changeOptions(state: TestingState, body: string): unknown {
  try {
    return state.setOptions(JSON.parse(body));
  } catch (error) {
    if (error instanceof z.ZodError) throw new RequestError(400, z.prettifyError(error));
    if (error instanceof SyntaxError) throw new RequestError(400, `the body is not JSON: ${error.message}`);
    throw error;
  }
}
