/** Answers a page's request with its error: as a page, or with the way to sign in. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JSX } from 'preact';
import { NotAdmittedError } from '../../app/access/access.ts';
import { shownServiceOf } from '../../app/service/service-settings.ts';
import { versionOfPackage } from '../../app/version.ts';
import type { ConsoleContext } from '../context.ts';
import { documentFor, replyWithProblem, RequestProblem } from '../problem.ts';
import { Bare, type Frame, Page, pageOf, userOf } from './frame.tsx';
import { printable, sentence } from '../../core/base/text.ts';
import { Empty, NearWells, Remark } from './parts.tsx';

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

/** Of a page; the other ones have the title of the API. */
const titles: Readonly<Record<number, string>> = { 404: 'Not found', 503: 'This page cannot be shown now' };

/** A stranger is led to the page where one signs in. */
function replyWithPage(error: unknown, { request, reply, context }: Asked): void {
  if (error instanceof NotAdmittedError) {
    const to = new URLSearchParams({ to: request.url });
    void reply.redirect(`/sign-in?${to.toString()}`, 303);
    return;
  }
  const { status, title, detail, hint } = documentFor(request, error, context.log);
  const isNoPage = error instanceof RequestProblem && error.code === 'no-such-route';
  const nearWells = error instanceof RequestProblem ? error.nearWells : [];
  const problem = {
    status,
    title: titles[status] ?? title,
    message: printable(isNoPage ? 'There is no such page.' : sentence(detail)),
    advice: hint,
    isPassing: status === 503,
    nearWells,
    isOfWell: error instanceof RequestProblem && error.code === 'no-such-well',
  };
  if (error instanceof RequestProblem && error.retryAfterSeconds !== undefined) {
    void reply.header('retry-after', String(error.retryAfterSeconds));
  }
  // Also of a route for anybody, which asks nobody who it is.
  const page =
    request.identity === null ? (
      <SignedOutProblemPage problem={problem} />
    ) : (
      <ProblemPage frame={frameWithout(context, request)} problem={problem} />
    );
  void reply.code(status).type('text/html; charset=utf-8').send(pageOf(page));
}

/** The frame of a page for which the warehouse need not answer: the service is that of the configuration. */
function frameWithout({ app }: ConsoleContext, request: FastifyRequest): Frame {
  const { config, warehouse } = app;
  return {
    service: shownServiceOf(config) ?? null,
    warehouse: warehouse.location,
    version: versionOfPackage(),
    user: userOf(request),
  };
}

/** The page of an error: what happened, to what, and what to do next. */
interface Problem {
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly advice: string | undefined;
  /** Passes by itself: the page asks again. */
  readonly isPassing: boolean;
  readonly nearWells: readonly string[];
  readonly isOfWell: boolean;
}

function ProblemPage({ frame, problem }: { readonly frame: Frame; readonly problem: Problem }): JSX.Element {
  return (
    <Page {...frame} title={problem.title} section={undefined}>
      <What problem={problem} />
    </Page>
  );
}

/** Without a word of where the data is. */
function SignedOutProblemPage({ problem }: { readonly problem: Problem }): JSX.Element {
  return (
    <Bare title={problem.title}>
      <What problem={problem} />
      <p>
        <a href="/sign-in">Sign in</a>
      </p>
    </Bare>
  );
}

function What({ problem }: { readonly problem: Problem }): JSX.Element {
  const { title, message, advice, isPassing, status, nearWells, isOfWell } = problem;
  return (
    <>
      <h1>{title}</h1>
      {status === 404 ? (
        <section class="panel">
          <Empty title={message}>
            {advice === undefined ? null : <p>{advice}</p>}
            {nearWells.length === 0 ? null : <NearWells uwis={nearWells} />}
            {isOfWell ? (
              <p>
                Search for a part of its name above, or <a href="/start">start an export</a> of a new well.
              </p>
            ) : null}
            <a href="/">To the overview</a>
          </Empty>
        </section>
      ) : (
        <Remark tone={isPassing ? 'warn' : 'bad'} title={message}>
          {advice === undefined ? null : <p>{advice}</p>}
          {isPassing ? (
            <p id="again" data-again={5}>
              This page asks again by itself, and opens once it can be shown.
            </p>
          ) : null}
        </Remark>
      )}
    </>
  );
}
