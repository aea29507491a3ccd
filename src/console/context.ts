/** What every route has at hand. */
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { Access, Identity } from '../app/access/access.ts';
import type { App } from '../app/app.ts';
import type { LedgerReader } from '../app/warehouse/last-known.ts';
import type { Role } from '../core/base/action.ts';

/** Whom a route answers: anybody, or a caller with this role. */
export type RouteAccess = 'anybody' | Role;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route says so: one that does not is refused when it is added. */
    readonly access?: RouteAccess;
    /** The body may be long, and is read by the route itself. */
    readonly isUpload?: boolean;
  }
  interface FastifyRequest {
    /** Null on a route for anybody. */
    identity: Identity | null;
  }
}

export interface ConsoleContext {
  readonly app: App;
  readonly access: Access;
  readonly reader: LedgerReader;
  readonly log: Logger;
  /** The configuration as it is now. Throws UsageError for one with faults. */
  readonly readConfig: () => Config;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
  /** Between two heartbeats of a stream. */
  readonly beatMs: number;
}

export type ApiServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;
