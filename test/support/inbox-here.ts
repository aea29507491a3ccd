/** An inbox that a worker in the process of the test takes files from. */
import { readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { expect } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { createApp } from '../../src/app/app.ts';
import { workHere } from '../../src/app/runs/worker-host.ts';
import { chunkQueues } from '../../src/core/run/job-description.ts';
import type { InboxKind } from '../../src/core/pipes/inbox.ts';
import { type CliHome, cliHome } from './cli.ts';
import { deferred } from './deferred.ts';

/** A file that ended: its folder, the other names in it, and its report. */
export interface EndedFile {
  readonly folder: string;
  readonly names: readonly string[];
  readonly report: Readonly<Record<string, unknown>>;
}

export interface Inbox {
  readonly folder: string;
  /** Renames a file into place, as one should. Returns its path. */
  drop(name: string, text: string): Promise<string>;
  /** The files that ended so, in the order of their taking. */
  ended(end: 'done' | 'failed'): Promise<readonly EndedFile[]>;
  /** Waits until so many files have ended. */
  endedAll(end: 'done' | 'failed', count: number): Promise<readonly EndedFile[]>;
}

const patiently = { timeout: 120_000, interval: 50 };

export function inboxOf(home: CliHome, kind: InboxKind): Inbox {
  const folder = path.join(home.folder, 'inbox', kind);
  let lastMs = 0;
  const ended = async (end: string): Promise<readonly EndedFile[]> => {
    const ids: readonly string[] = await readdir(path.join(folder, end)).catch(() => []);
    return Promise.all(ids.toSorted().map((id) => endedFile(path.join(folder, end, id))));
  };
  return {
    folder,
    async drop(name, text) {
      const file = path.join(folder, name);
      await writeFile(path.join(folder, '.dropped'), text);
      // The clock of a file system ticks every few milliseconds: what comes within one tick has no order.
      do {
        await utimes(path.join(folder, '.dropped'), new Date(), new Date());
      } while ((await stat(path.join(folder, '.dropped'))).ctimeMs <= lastMs);
      await rename(path.join(folder, '.dropped'), file);
      lastMs = Date.now();
      return file;
    },
    ended,
    async endedAll(end, count) {
      await expect.poll(async () => (await readdir(path.join(folder, end))).length, patiently).toBe(count);
      return ended(end);
    },
  };
}

async function endedFile(folder: string): Promise<EndedFile> {
  const names = await readdir(folder);
  const text = await readFile(path.join(folder, 'report.json'), 'utf8');
  const report = JSON.parse(text) as Readonly<Record<string, unknown>>;
  return { folder, names: names.filter((name) => name !== 'report.json'), report };
}

/** A home whose configuration names an inbox; `warehouseUrl` as in {@link cliHome}. */
export function inboxHome(serviceUrl: string, warehouseUrl?: string): Promise<CliHome> {
  const config = 'inbox: { folder: inbox, settleMs: 100 }\n';
  return cliHome(serviceUrl, { config, ...(warehouseUrl === undefined ? {} : { warehouseUrl }) });
}

/** Works a home as `wellsync worker` does, until disposed. `lines`: what it logs. */
export async function workerHere(home: CliHome): Promise<AsyncDisposable & { readonly lines: readonly string[] }> {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const app = createApp(loadConfig({ environment: home.env }), { log });
  const stop = deferred();
  const working = workHere({ app, queues: chunkQueues, log, isStanding: true }, () => stop.promise);
  const ready = Promise.all(
    (['network-pipes', 'cleanup'] as const).map(async (kind) => {
      await expect.poll(() => readdir(path.join(home.folder, 'inbox', kind)), patiently).toContain('failed');
    }),
  );
  await Promise.race([ready, working]);
  return {
    lines,
    async [Symbol.asyncDispose]() {
      stop.resolve();
      await working;
      await app[Symbol.asyncDispose]();
    },
  };
}
