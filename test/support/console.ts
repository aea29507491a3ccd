/** A server of the HTTP API in this process, asked over a socket. */
import { once } from 'node:events';
import { pino } from 'pino';
import type { HttpSettings } from '../../config/http-settings.ts';
import { loadConfig } from '../../config/load.ts';
import { Access } from '../../src/app/access/access.ts';
import { hashOfToken } from '../../src/app/access/sessions.ts';
import { type App, createApp } from '../../src/app/app.ts';
import { checkBeforeWorking } from '../../src/app/preflight.ts';
import { workHere } from '../../src/app/runs/worker-host.ts';
import { createServingApp } from '../../src/app/serving.ts';
import { directReader, type LedgerReader } from '../../src/app/warehouse/last-known.ts';
import { type RunningConsole, startConsole } from '../../src/console/server.ts';
import type { CliHome } from './cli.ts';

const log = pino({ level: 'silent' });

/** A token of each role, by its name; its hash is that of the name. */
export const tokensOfRoles: HttpSettings['tokens'] = (['read', 'operate', 'delete'] as const).map((role) => ({
  name: role,
  role,
  sha256: hashOfToken(role),
}));

export interface ConsoleUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly app: App;
  readonly routes: RunningConsole['routes'];
  /** Replaces the settings of access, as a change of the configuration does. */
  setAccess(settings: Partial<HttpSettings>): void;
  /** Later, as it seems to whoever looks after tokens, sessions, and the time that settings were read. */
  pass(ms: number): void;
  /** Signs a reader in; returns the cookie of its session, as a browser sends it. */
  signIn(token: string): Promise<string>;
  /** Asks a path. `token` is sent as it is; `json` is sent as the body. */
  ask(path: string, how?: Asking): Promise<Response>;
  stop(graceMs?: number): Promise<void>;
}

export interface Asking {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream;
}

/** `works`: beside the server, queues are worked as `wellsync serve` does it. */
export async function startConsoleOf(
  home: CliHome,
  options: {
    readonly http?: Partial<HttpSettings>;
    readonly works?: boolean;
    readonly reader?: LedgerReader;
    readonly beatMs?: number;
  } = {},
): Promise<ConsoleUnderTest> {
  const config = loadConfig({ environment: home.env });
  let settings: HttpSettings = { ...config.http, ...options.http };
  let passedMs = 0;
  const app = createServingApp({ ...config, http: settings });
  await checkBeforeWorking(app);
  const access = new Access(() => settings, { now: () => Date.now() + passedMs });
  const worker = options.works === true ? await startWorking(home) : undefined;
  const reader = options.reader ?? directReader();
  const beat = options.beatMs === undefined ? {} : { beatMs: options.beatMs };
  const running = await startConsole(
    { app, access, reader, log, readConfig: () => loadConfig({ environment: home.env }), ...beat },
    { host: '127.0.0.1', port: 0 },
  );
  const ask = (path: string, { method, token, headers = {}, json, body }: Asking = {}): Promise<Response> =>
    fetch(`${running.url}${path}`, {
      method: method ?? (json === undefined && body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    });
  return {
    url: running.url,
    app,
    routes: running.routes,
    setAccess: (changed) => void (settings = { ...settings, ...changed }),
    pass: (ms) => void (passedMs += ms),
    ask,
    async signIn(token) {
      const answer = await fetch(`${running.url}/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `token=${token}`,
      });
      const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
      return cookie;
    },
    stop: (graceMs = 0) => running.stop(graceMs),
    async [Symbol.asyncDispose]() {
      await running.stop(0);
      await worker?.stop();
      await app[Symbol.asyncDispose]();
    },
  };
}

async function startWorking(home: CliHome): Promise<{ readonly stop: () => Promise<void> }> {
  const app = createApp(loadConfig({ environment: home.env }));
  await checkBeforeWorking(app);
  const stopping = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    ended = workHere({ app, queues: ['export', 'push', 'cleanup'], log }, async () => {
      resolve();
      if (!stopping.signal.aborted) await once(stopping.signal, 'abort');
    });
    ended.catch(reject);
  });
  return {
    async stop() {
      stopping.abort();
      await ended;
      await app[Symbol.asyncDispose]();
    },
  };
}
