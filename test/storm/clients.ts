/** Who uses an installation: commands in processes of their own, and requests to the API; each call is kept. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { processTree } from '../support/process-tree.ts';
import type { Called } from './evidence.ts';
import { type Installation, program } from './installation.ts';

export interface CallOptions {
  /** SIGKILL to all of its processes after so long, if it still runs. */
  readonly killAfterMs?: number;
  /** What is pushed, for the checker. */
  readonly pipesCsv?: string;
}

/** What a call that is not disturbed may take. */
const patienceMs = 150_000;
/** From the end of a command to that of its streams. */
const streamsMs = 10_000;
/** Between two requests to a server that is not there. */
const againMs = 300;

export class Clients {
  readonly calls: Called[] = [];
  /** The runs that were named, the newest last. */
  readonly runIds: string[] = [];
  isCalm = false;
  #running = 0;
  readonly #installation: Installation;

  constructor(installation: Installation) {
    this.#installation = installation;
  }

  /** Commands and requests under way. */
  get running(): number {
    return this.#running;
  }

  /** A command with `--json`; standard error is part of the logs that secrets are looked for in. */
  async run(words: readonly string[], { killAfterMs, pipesCsv }: CallOptions = {}): Promise<Called> {
    const atMs = Date.now();
    this.#running += 1;
    const child = spawn(process.execPath, [program, ...words, '--json'], {
      env: this.#installation.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: this.#installation.folder,
    });
    const kill = (): void => {
      for (const pid of child.pid === undefined ? [] : processTree(child.pid)) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended meanwhile.
        }
      }
    };
    const late = setTimeout(kill, killAfterMs ?? patienceMs);
    const texts = [text(child.stdout), text(child.stderr)] as const;
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(late);
    // What it started and left behind may hold its streams.
    const deaf = setTimeout(() => void [child.stdout, child.stderr].map((stream) => stream.destroy()), streamsMs);
    const [stdout, stderr] = await Promise.all(texts.map((each) => each.catch(() => '')));
    clearTimeout(deaf);
    this.#running -= 1;
    this.said.push(stdout ?? '', stderr ?? '');
    return this.#keep({ atMs, words, code, document: parsed(stdout ?? ''), pipesCsv });
  }

  /** All that commands printed, and the API answered. */
  readonly said: string[] = [];

  /** The code of the call is the status; null without an answer. `key`: its idempotency key. */
  async ask(
    method: string,
    route: string,
    body: { readonly json?: unknown; readonly csv?: string; readonly key?: string } = {},
  ): Promise<Called> {
    const atMs = Date.now();
    this.#running += 1;
    const headers: Record<string, string> = { authorization: `Bearer ${this.#installation.apiToken}` };
    if (body.json !== undefined) headers['content-type'] = 'application/json';
    if (body.csv !== undefined) headers['content-type'] = 'text/csv';
    if (body.key !== undefined) headers['idempotency-key'] = body.key;
    const sent = body.csv ?? (body.json === undefined ? undefined : JSON.stringify(body.json));
    let [code, answer]: [number | null, string] = [null, ''];
    try {
      const response = await onceThere(`${this.#installation.apiUrl}${route}`, {
        method,
        headers,
        ...(sent === undefined ? {} : { body: sent }),
        signal: AbortSignal.timeout(15_000),
      });
      code = response.status;
      answer = await response.text();
    } catch {
      // The server is away, or was killed before its last byte.
    }
    this.#running -= 1;
    this.said.push(answer);
    const words = [`${method} ${route}`];
    return this.#keep({ atMs, words, code, document: parsed(answer), pipesCsv: body.csv, key: body.key });
  }

  /** A file of pipes that was dropped into the inbox. */
  dropped(name: string, csv: string): void {
    this.#keep({ atMs: Date.now(), words: ['inbox', name], code: 0, document: null, pipesCsv: csv });
  }

  #keep(call: {
    readonly atMs: number;
    readonly words: readonly string[];
    readonly code: number | null;
    readonly document: unknown;
    readonly pipesCsv: string | undefined;
    readonly key?: string | undefined;
  }): Called {
    const { pipesCsv, key, ...rest } = call;
    const runId = runOf(call.document);
    const called: Called = {
      ...rest,
      endedMs: Date.now(),
      isCalm: this.isCalm,
      ...(runId === undefined ? {} : { runId }),
      ...(pipesCsv === undefined ? {} : { pipesCsv }),
      ...(key === undefined ? {} : { key }),
    };
    this.calls.push(called);
    if (runId !== undefined && !this.runIds.includes(runId)) this.runIds.push(runId);
    return called;
  }
}

/** A server that is down for a moment is asked again until it is there: what was refused was asked of nobody. */
async function onceThere(url: string, request: RequestInit): Promise<Response> {
  for (;;) {
    try {
      return await fetch(url, request);
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { readonly code?: string };
      if (code !== 'ECONNREFUSED') throw error;
      await delay(againMs);
      request.signal?.throwIfAborted();
    }
  }
}

function parsed(said: string): unknown {
  try {
    return JSON.parse(said) as unknown;
  } catch {
    return null;
  }
}

function runOf(document: unknown): string | undefined {
  const id = (document as { readonly runId?: unknown } | null)?.runId;
  return typeof id === 'string' ? id : undefined;
}
