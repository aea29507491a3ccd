/** The frame of every page: head, navigation, and where the data comes from and goes to (G11). */
import type { FastifyRequest } from 'fastify';
import type { ComponentChildren, JSX } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { useContext } from 'preact/hooks';
import { printable } from '../../core/base/text.ts';
import { type Delivered, deliveredNow, Delivery } from './delivery.ts';
import { Name, Time } from './parts.tsx';

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
