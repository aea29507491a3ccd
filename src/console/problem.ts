/** Errors as problem documents (RFC 9457). An unknown error shows nothing of itself: the log has its stack. */
import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { NoTargetError } from '../app/exports/target-input.ts';
import { ForbiddenError, NotAdmittedError } from '../app/access/access.ts';
import type { Action } from '../core/base/action.ts';
import {
  AbortedError,
  AccessError,
  BlockedError,
  outagePartOf,
  PermanentError,
  ServiceHoldError,
  TransientError,
  UnpacksTooFarError,
  UnreachableError,
  UsageError,
  WellsyncError,
} from '../core/base/errors.ts';
import { sentence } from '../core/base/text.ts';
import { ReleaseConflictError } from '../core/daily/shrink-guard.ts';
import { KeyReusedError } from '../core/run/run.ts';

/** An answer that is about the request itself: what it names is not there, or not in that state. */
export class RequestProblem extends WellsyncError {
  override readonly name = 'RequestProblem';
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  /** Wells that may be meant. */
  readonly nearWells: readonly string[];

  constructor(
    status: number,
    code: string,
    message: string,
    details: {
      readonly hint?: string;
      readonly retryAfterSeconds?: number;
      readonly nearWells?: readonly string[];
    } = {},
  ) {
    super(code, message, details);
    this.status = status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.nearWells = details.nearWells ?? [];
  }
}

export interface ProblemDocument {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable, kebab-case. */
  readonly code: string;
  readonly hint?: string;
  readonly issues?: readonly string[];
  /** What to do next, as data. */
  readonly action?: Action;
}

/** After how long a part that is away may be asked again. */
const awaySeconds = 5;

function statusOf(error: WellsyncError): number {
  if (error instanceof RequestProblem) return error.status;
  if (error instanceof NotAdmittedError) return 401;
  if (error instanceof ForbiddenError) return 403;
  if (error instanceof KeyReusedError || error instanceof NoTargetError) return 422;
  if (error instanceof ReleaseConflictError) return 409;
  if (error instanceof UnpacksTooFarError) return 413;
  if (error instanceof UsageError) return 400;
  const isAway =
    error instanceof TransientError ||
    error instanceof UnreachableError ||
    error instanceof ServiceHoldError ||
    error instanceof BlockedError ||
    error instanceof AbortedError;
  if (isAway) return 503;
  // The service refuses us, or this request for good.
  if (error instanceof AccessError || error instanceof PermanentError) return 502;
  return 409;
}

/** Members of a body, of a query or of a path that are not as the schema says. */
function issuesOf({ validation, validationContext }: FastifyError): readonly string[] {
  return (validation ?? []).map(({ instancePath, message }) => {
    const path = [validationContext ?? '', ...instancePath.split('/').filter((part) => part !== '')].join('.');
    return `${path}: ${message ?? 'is not valid'}`;
  });
}

/** `FST_ERR_CTP_INVALID_MEDIA_TYPE` reads `invalid-media-type`. */
function codeOfFastify({ code }: FastifyError): string {
  return code
    .replace(/^FST_(?:ERR_)?(?:CTP_)?/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

/** The problem document of an error. */
function documentOf(error: unknown, log: Logger): ProblemDocument {
  if (error instanceof WellsyncError) {
    const status = statusOf(error);
    const { code, hint, action } = error;
    const issues = error instanceof UsageError ? error.issues : [];
    return {
      ...problemOf(status, code, error.message),
      ...(hint === undefined ? {} : { hint }),
      ...(issues.length === 0 ? {} : { issues }),
      ...(action === undefined ? {} : { action }),
    };
  }
  const { validation, statusCode = 500, message } = error as FastifyError;
  if (validation !== undefined) {
    const issues = issuesOf(error as FastifyError);
    return { ...problemOf(400, 'invalid-request', 'the request is not as the interface says'), issues };
  }
  if (statusCode < 500) return problemOf(statusCode, codeOfFastify(error as FastifyError), message);
  // What broke with the connection has nobody to be answered.
  if (isClosedByClient(error)) log.info('a client closed its connection while its request was read');
  else log.error({ err: error }, 'a request failed by a fault of wellsync');
  return problemOf(500, 'bug', 'this is a fault of wellsync itself: its log has the details');
}

function isClosedByClient(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/** As {@link documentOf}; what is wrong with a part of the installation is for a caller with a role. */
export function documentFor(
  { identity }: Pick<FastifyRequest, 'identity'>,
  error: unknown,
  log: Logger,
): ProblemDocument {
  const problem = documentOf(error, log);
  if (identity !== null || problem.status < 500) return problem;
  return problemOf(problem.status, problem.code, 'this cannot be answered now');
}

function problemOf(status: number, code: string, detail: string): ProblemDocument {
  return { type: 'about:blank', title: STATUS_CODES[status] ?? 'Error', status, detail, code };
}

/** What keeps the warehouse from being read, and what to do about it: for the banner of a page. */
export function awayText({ message, hint = '' }: WellsyncError): string {
  return [message, hint].map(sentence).join(' ').trim();
}

/** Answers a request with its error. */
export function replyWithProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Logger): void {
  const problem = documentFor(request, error, log);
  const { status } = problem;
  if (status === 401) void reply.header('www-authenticate', 'Bearer realm="wellsync"');
  const seconds = error instanceof RequestProblem ? error.retryAfterSeconds : status === 503 ? awaySeconds : undefined;
  if (seconds !== undefined) void reply.header('retry-after', String(seconds));
  const isAway = error instanceof WellsyncError && outagePartOf(error) === 'warehouse';
  if (isAway && request.identity !== null) void reply.header('x-away', encodeURIComponent(awayText(error)));
  // The rest of a body that nobody reads must not be taken for the next request.
  if (!request.raw.complete) void reply.header('connection', 'close');
  void reply.code(status).type('application/problem+json').serializer(JSON.stringify).send(problem);
}
