/** Owns the paths under /testing, outside /api: what tests and operators use to look into the server and to change it. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { jsonReply, readBody, type Reply } from './reply.ts';
import { RequestError } from './request-error.ts';
import type { TestingState } from './testing-state.ts';

type Answer = (state: TestingState, body: string) => unknown;

/** By path, then by method; each answers JSON. */
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

/** Throws RequestError: 404 for an unknown path, 405 for a wrong method, 400 for a body that cannot be taken. */
export async function answerControl(request: IncomingMessage, state: TestingState): Promise<Reply> {
  const path = (request.url ?? '').replace(/\?.*$/, '');
  const answers = Object.hasOwn(controls, path) ? controls[path] : undefined;
  if (answers === undefined) {
    throw new RequestError(404, `there is no ${path}; besides /api there are ${Object.keys(controls).join(', ')}`);
  }
  const answer = answers[request.method ?? ''];
  const allow = Object.keys(answers).join(', ');
  if (answer === undefined) throw new RequestError(405, `${path} takes ${allow}`, { allow });
  return jsonReply(answer(state, await readBody(request, Infinity)));
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
