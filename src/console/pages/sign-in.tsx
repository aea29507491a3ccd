/** Signing in: a token, as `wellsync token create` shows it, becomes a cookie that no script reads. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { JSX } from 'preact';
import { z } from 'zod';
import { tokenCookie } from '../../app/access/access.ts';
import { requireWithin } from '../admission.ts';
import type { ApiServer, ConsoleContext } from '../context.ts';
import { Field } from './forms.tsx';
import { Bare, pageOf } from './frame.tsx';
import { Note, Panel } from './parts.tsx';
import { replyWithError } from './problem-page.tsx';

/** A working day, with the night before it. */
const cookieSeconds = 14 * 3_600;

/** Of an address, right ones and wrong ones: a guess at a token is one of 2^256. */
const attemptsPerMinute = 30;

interface SignInProps {
  readonly to: string;
  readonly fault: string | undefined;
}

function SignInPage({ to, fault }: SignInProps): JSX.Element {
  return (
    <Bare title="Sign in">
      <h1>Sign in</h1>
      {fault === undefined ? null : (
        <Note tone="bad">
          <p>{fault}</p>
        </Note>
      )}
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

const fields = z.object({ to: z.string().max(4_000).default('/'), token: z.string().max(500) });

export async function addSignIn(server: ApiServer, context: ConsoleContext): Promise<void> {
  // Only here a body is a form: a page of another site can send one without asking.
  await server.register(async (scope) => addRoutes(scope.withTypeProvider<ZodTypeProvider>(), context));
}

function addRoutes(server: ApiServer, context: ConsoleContext): void {
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 10_000 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  const limitAttempts = server.createRateLimit({
    max: attemptsPerMinute,
    timeWindow: 60_000,
    keyGenerator: ({ socket }: FastifyRequest) => socket.remoteAddress ?? '',
  });
  server.route({
    method: 'GET',
    url: '/sign-in',
    config: { access: 'anybody' },
    schema: { hide: true, querystring: z.object({ to: z.string().max(4_000).default('/') }) },
    handler: async ({ query: { to } }, reply) => replyWithSignIn(reply, to),
  });
  server.route({
    method: 'POST',
    url: '/sign-in',
    config: { access: 'anybody' },
    errorHandler: (error, request, reply) => replyWithError(error, { request, reply, context }),
    schema: { hide: true, body: fields },
    handler: async (request, reply) => {
      await requireWithin(limitAttempts, request);
      const { token, to } = request.body;
      const headers = { authorization: `Bearer ${token.trim()}` };
      try {
        context.access.identify({ headers, remoteAddress: request.socket.remoteAddress, isChange: false });
      } catch {
        void reply.code(401);
        return replyWithSignIn(reply, to, 'This token is not known: it may have been removed, or cut.');
      }
      void reply.header('set-cookie', cookieOf(token.trim(), cookieSeconds, request));
      return reply.redirect(pathOf(to), 303);
    },
  });
  server.route({
    method: 'POST',
    url: '/sign-out',
    config: { access: 'anybody' },
    schema: { hide: true },
    handler: async (request, reply) => {
      void reply.header('set-cookie', cookieOf('', 0, request));
      return reply.redirect('/sign-in', 303);
    },
  });
}

async function replyWithSignIn(reply: FastifyReply, to: string, fault?: string): Promise<FastifyReply> {
  return reply.type('text/html; charset=utf-8').send(pageOf(<SignInPage to={pathOf(to)} fault={fault} />));
}

/** A path of this server: nobody is led elsewhere after signing in. */
function pathOf(to: string): string {
  return /^\/(?![/\\])[^\s\\]*$/.test(to) ? to : '/';
}

function cookieOf(value: string, maxAgeSeconds: number, { headers }: FastifyRequest): string {
  const isSecure = headers['x-forwarded-proto'] === 'https' || headers.origin?.startsWith('https:') === true;
  const secure = isSecure ? '; Secure' : '';
  return `${tokenCookie}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}
