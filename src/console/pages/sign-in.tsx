/** Signing in: a token, as `wellsync token create` shows it, opens a session, whose id is in a cookie that no script reads. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { JSX } from 'preact';
import { z } from 'zod';
import {
  type Identity,
  NotAdmittedError,
  refuseFromElsewhere,
  sessionCookie,
  WrongTokenError,
} from '../../app/access/access.ts';
import { sessionMs } from '../../app/access/sessions.ts';
import type { WhileFewAreWrong } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { Field } from './forms.tsx';
import { Bare, pageOf, replyWithError } from './frame.tsx';
import { Remark, Panel } from './parts.tsx';

interface SignInProps {
  readonly to: string;
  readonly fault?: string | undefined;
  /** Whether the reader was signed in before. */
  readonly hasEnded?: boolean;
}

function SignInPage({ to, fault, hasEnded = false }: SignInProps): JSX.Element {
  return (
    <Bare title="Sign in">
      <h1>Sign in</h1>
      {fault === undefined ? null : (
        <Remark tone="bad">
          <p>{fault}</p>
        </Remark>
      )}
      {hasEnded ? (
        <Remark tone="warn">
          <p>Your session has ended: sign in again. What you had not sent yet was not done.</p>
        </Remark>
      ) : null}
      <Panel title="With a token">
        <p class="muted">
          Whoever runs this server makes one with <code>wellsync token create</code>.
        </p>
        <form method="post" action="/sign-in" class="stack">
          <input type="hidden" name="to" value={to} />
          <Field label="Token">
            <input type="password" name="token" required autocomplete="current-password" />
          </Field>
          <button type="submit" class="first">
            Sign in
          </button>
        </form>
      </Panel>
    </Bare>
  );
}

const fields = z.object({ to: z.string().default('/'), token: z.string().max(500) });

export async function addSignIn(
  server: ApiServer,
  context: ConsoleContext,
  whileFewAreWrong: WhileFewAreWrong,
): Promise<void> {
  // Only here a body is a form: a page of another site can send one without asking, and is refused.
  await server.register(async (scope) => {
    const own = scope.withTypeProvider<ZodTypeProvider>();
    own.addHook('onRequest', async (request) => {
      if (request.method !== 'GET') refuseFromElsewhere(request);
    });
    addRoutes(own, context, whileFewAreWrong);
  });
}

function addRoutes(server: ApiServer, context: ConsoleContext, whileFewAreWrong: WhileFewAreWrong): void {
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 10_000 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  const errorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    replyWithError(error, { request, reply, context });
  server.route({
    method: 'GET',
    url: '/sign-in',
    config: { access: 'anybody' },
    errorHandler,
    schema: { hide: true, querystring: z.object({ to: z.string().default('/') }) },
    handler: async (request, reply) =>
      replyWithSignIn(reply, { to: request.query.to, hasEnded: context.access.hasEndedSession(request) }),
  });
  server.route({
    method: 'POST',
    url: '/sign-in',
    config: { access: 'anybody' },
    errorHandler,
    schema: { hide: true, body: fields },
    handler: async (request, reply) => {
      const { token, to } = request.body;
      let identity: Identity;
      try {
        identity = await whileFewAreWrong(request, () => context.access.identifyToken(token.trim()));
      } catch (error) {
        if (!(error instanceof NotAdmittedError)) throw error;
        void reply.code(401);
        return replyWithSignIn(reply, { to, fault: faultOf(error) });
      }
      // For the log of requests.
      request.identity = identity;
      const id = context.access.signIn(identity, request);
      void reply.header('set-cookie', cookieOf(id, sessionMs / 1_000, request));
      return reply.redirect(pathOf(to), 303);
    },
  });
  server.route({
    method: 'POST',
    url: '/sign-out',
    config: { access: 'anybody' },
    errorHandler,
    schema: { hide: true },
    handler: async (request, reply) => {
      context.access.signOut(request);
      void reply.header('set-cookie', cookieOf('', 0, request));
      return reply.redirect('/sign-in', 303);
    },
  });
}

function faultOf(error: NotAdmittedError): string {
  if (error instanceof WrongTokenError) return 'This token is not known: it may have been removed, or cut.';
  return `${error.message[0]?.toUpperCase() ?? ''}${error.message.slice(1)}. ${error.hint ?? ''}`;
}

async function replyWithSignIn(reply: FastifyReply, props: SignInProps): Promise<FastifyReply> {
  const page = <SignInPage {...props} to={pathOf(props.to)} />;
  return reply.type('text/html; charset=utf-8').send(pageOf(page));
}

/** A path of this server, as a header can say it: nobody is led elsewhere after signing in. */
function pathOf(to: string): string {
  return /^\/(?![/\\])[!-~]*$/.test(to) && !to.includes('\\') ? to : '/';
}

function cookieOf(value: string, maxAgeSeconds: number, { headers }: FastifyRequest): string {
  const isSecure = headers['x-forwarded-proto'] === 'https' || headers.origin?.startsWith('https:') === true;
  const secure = isSecure ? '; Secure' : '';
  return `${sessionCookie}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}
