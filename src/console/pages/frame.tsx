/** The frame of every page: head, navigation, and where the data comes from and goes to (G11). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren, JSX } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { useContext } from 'preact/hooks';
import { printable, sentence } from '../../core/base/text.ts';
import { type Delivered, deliveredNow, Delivery } from './forms.tsx';
import { Empty, Name, NearWells, Remark, Time } from './parts.tsx';
import { NotAdmittedError } from '../../app/access/access.ts';
import { shownServiceOf } from '../../app/service/service-settings.ts';
import { versionOfPackage } from '../../app/version.ts';
import type { ConsoleContext } from '../context.ts';
import { documentFor, replyWithProblem, RequestProblem } from '../problem.ts';

/** The sections of the console, in the order of the navigation. */
const sections = [
  { name: 'Overview', path: '/' },
  { name: 'Runs', path: '/runs' },
  { name: 'Coverage', path: '/coverage' },
  { name: 'Push', path: '/push' },
  { name: 'Cleanup', path: '/cleanup' },
  { name: 'Schedules', path: '/schedules' },
  { name: 'Service', path: '/service' },
] as const;

export type SectionName = (typeof sections)[number]['name'];

/** What a page shows beside its own content. */
export interface Frame {
  /** Addresses without secrets; undefined before the first run, null where it is not known now. */
  readonly service: string | null | undefined;
  readonly warehouse: string;
  /** The name of the token or user, its role, and whether it signed in; undefined where everyone may operate. */
  readonly user?: { readonly name: string; readonly role: string; readonly mayLeave: boolean } | undefined;
  readonly version: string;
  /** Scripts of the page beside console.js, by name below /static. */
  readonly scripts?: readonly string[];
  /** Style sheets of the page beside console.css. */
  readonly styles?: readonly string[];
  /** What the scripts import, and the data that they ask for: loaded at once, not one after the other. */
  readonly ahead?: { readonly modules: readonly string[]; readonly data: string };
}

/** Undefined where everyone may operate. */
export function userOf({ identity }: Pick<FastifyRequest, 'identity'>): Frame['user'] {
  if (identity === null || identity.kind === 'loopback') return undefined;
  return { name: identity.name, role: identity.role, mayLeave: identity.session !== undefined };
}

interface PageProps extends Frame {
  readonly title: string;
  /** Undefined for a page of none, such as an error. */
  readonly section: SectionName | undefined;
  /** What stands in the search field. */
  readonly sought?: string;
  readonly children?: ComponentChildren;
}

/** The HTML of a whole page. */
export function pageOf(page: JSX.Element, delivered: Delivered = deliveredNow()): string {
  return `<!doctype html>${partOf(page, delivered)}`;
}

/** The HTML of a part of a page, which its script replaces. */
export function partOf(part: JSX.Element, delivered: Delivered): string {
  return renderToString(<Delivery.Provider value={delivered}>{part}</Delivery.Provider>);
}

export function Page(props: PageProps): JSX.Element {
  const { title, section, children, scripts, styles, ahead } = props;
  return (
    <Html title={title} scripts={scripts} styles={styles} ahead={ahead}>
      <Top {...props} section={section} />
      <Banner />
      <noscript>
        <p class="banner is-shown">
          JavaScript is off: pages can be read, and are not renewed. Instead of a button there is the command that does
          the same.
        </p>
      </noscript>
      <main id="content">{children}</main>
      <Foot {...props} />
    </Html>
  );
}

/** Of a page that is not of now; kept by console.js, also where nobody answers. */
function Banner(): JSX.Element {
  const { asOfMs, away } = useContext(Delivery);
  if (away === '') return <div id="banner" class="banner" role="status" />;
  return (
    <div id="banner" class="banner is-shown" role="status" data-away={away} data-again={5}>
      As of <Time at={new Date(asOfMs).toISOString()} />: {away}
    </div>
  );
}

/** A page for a stranger: without navigation, and without a word of where the data is. */
export function Bare({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <Html title={title}>
      <header class="top">
        <div class="top-in">
          <span class="brand">
            <Mark />
            wellsync
          </span>
        </div>
      </header>
      <main id="content">{children}</main>
    </Html>
  );
}

interface HtmlProps {
  readonly title: string;
  readonly scripts?: readonly string[] | undefined;
  readonly styles?: readonly string[] | undefined;
  readonly ahead?: Frame['ahead'];
  readonly children: ComponentChildren;
}

function Html({ title, scripts = [], styles = [], ahead, children }: HtmlProps): JSX.Element {
  const { away } = useContext(Delivery);
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${printable(title)} · wellsync`}</title>
        <link rel="icon" href="/static/icon.svg" type="image/svg+xml" />
        {['console.css', ...styles].map((name) => (
          <link key={name} rel="stylesheet" href={`/static/${name}`} />
        ))}
        {/* Nothing is painted before the times are those of the reader: the page would move under them. */}
        <script type="module" src="/static/console.js" {...{ blocking: 'render' }} />
        {scripts.map((name) => (
          <script key={name} type="module" src={`/static/${name}`} />
        ))}
        {ahead === undefined ? null : (
          <>
            <link rel="preload" as="fetch" crossOrigin="anonymous" href={ahead.data} />
            {ahead.modules.map((name) => (
              <link key={name} rel="modulepreload" href={`/static/${name}`} />
            ))}
          </>
        )}
      </head>
      <body class={away === '' ? undefined : 'is-old'}>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        {children}
      </body>
    </html>
  );
}

function Top({ section, service, warehouse, user, sought }: PageProps): JSX.Element {
  return (
    <header class="top">
      <div class="top-in">
        <a class="brand" href="/">
          <Mark />
          wellsync
        </a>
        <nav class="nav" aria-label="Sections">
          {sections.map(({ name, path }) => (
            <a key={name} href={path} aria-current={name === section ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <Search sought={sought ?? ''} />
        {user === undefined ? null : (
          <span class="user">
            <Name>{user.name}</Name> ({user.role})
            {user.mayLeave ? (
              <form method="post" action="/sign-out">
                <button type="submit" class="small">
                  Sign out
                </button>
              </form>
            ) : null}
          </span>
        )}
      </div>
      <div class="top-in place">
        <span>
          From <Name>{service === null ? 'a service that is not known now' : (service ?? 'no service yet')}</Name>
        </span>
        <span>
          to <Name>{warehouse}</Name>
        </span>
      </div>
    </header>
  );
}

/** Without the script it leads to a page of results. */
function Search({ sought }: { readonly sought: string }): JSX.Element {
  return (
    <form class="search" method="get" action="/search" role="search">
      <input
        type="search"
        name="text"
        id="search"
        aria-label="Search wells, runs, files and plans"
        placeholder="Search wells, runs, files"
        value={sought}
        maxLength={200}
        required
        autocomplete="off"
        spellcheck={false}
      />
      <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden />
    </form>
  );
}

function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" fill="currentColor">
      <path d="M12 1.5c4 5 7 8.6 7 12.6a7 7 0 0 1-14 0c0-4 3-7.6 7-12.6Zm-3.4 14h1.9v-3.2H8.6v3.2Zm2.5 0H13v-5.6h-1.9v5.6Zm2.5 0h1.9v-2h-1.9v2Z" />
    </svg>
  );
}

function Foot({ version }: PageProps): JSX.Element {
  const { asOfMs } = useContext(Delivery);
  return (
    <footer class="foot">
      <span>wellsync {version}</span>
      <span id="shown">
        As of <Time at={new Date(asOfMs).toISOString()} />
      </span>
      <span id="zone">Times are UTC.</span>
      <span class="muted" id="link-state" role="status" />
    </footer>
  );
}

// Answers a page's request with its error: as a page, or with the way to sign in.

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
