/** Answers a page's request with its error: as a page, or with the way to sign in. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { versionOfPackage } from '../../app/version.ts';
import { NotAdmittedError } from '../../app/access/access.ts';
import type { ConsoleContext } from '../context.ts';
import { documentFor, replyWithProblem, RequestProblem } from '../problem.ts';
import { type Frame, pageOf } from './frame.tsx';
import { ProblemPage, StrangerProblemPage } from './problem.tsx';

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly context: ConsoleContext;
}

/** Answers a browser that asks for a page with one, and a program with a problem document. */
export function replyWithError(error: unknown, asked: Asked): void {
  const { request, reply, context } = asked;
  if (isPageRequest(request)) replyWithPage(error, asked);
  else replyWithProblem(error, request, reply, context.log);
}

/** Whether a browser asks for a page, by its path and what it takes. */
function isPageRequest({ url, headers }: FastifyRequest): boolean {
  return !url.startsWith('/api/') && (headers.accept ?? '').includes('text/html');
}

/** A stranger is led to the page where one signs in. */
function replyWithPage(error: unknown, { request, reply, context }: Asked): void {
  if (error instanceof NotAdmittedError) {
    const to = new URLSearchParams({ to: request.url });
    void reply.redirect(`/sign-in?${to.toString()}`, 303);
    return;
  }
  const { status, title, detail, hint } = documentFor(request, error, context.log);
  const problem = { status, title, message: detail, advice: hint, isPassing: status === 503 };
  if (error instanceof RequestProblem && error.retryAfterSeconds !== undefined) {
    void reply.header('retry-after', String(error.retryAfterSeconds));
  }
  // Also of a route for anybody, which asks nobody who it is.
  const page =
    request.identity === null ? (
      <StrangerProblemPage problem={problem} />
    ) : (
      <ProblemPage frame={frameWithout(context)} problem={problem} />
    );
  void reply.code(status).type('text/html; charset=utf-8').send(pageOf(page));
}

/** The frame of a page for which the warehouse need not answer. */
function frameWithout({ app }: ConsoleContext): Frame {
  const { config, warehouse } = app;
  return { service: config.service.id, warehouse: warehouse.location, version: versionOfPackage(), nowMs: Date.now() };
}
