/** Who sees what an installation says to others: a receiver of alerts, a reader of the feed, a search for secrets. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Redis } from 'ioredis';
import { startReceiver } from '../support/alert-receiver.ts';
import type { FeedReading, SentAlert } from './evidence.ts';

export interface AlertWatch extends AsyncDisposable {
  readonly url: string;
  /** Refuses every alert with 503 while it is set. */
  refuses: boolean;
  /** Those that were taken. */
  readonly sent: readonly SentAlert[];
  /** All that was sent, as text. */
  readonly said: () => readonly string[];
}

export async function watchAlerts(): Promise<AlertWatch> {
  const receiver = await startReceiver();
  return {
    url: receiver.url,
    get refuses() {
      return receiver.state.status !== 200;
    },
    set refuses(isSet) {
      receiver.state.status = isSet ? 503 : 200;
    },
    get sent() {
      const taken = receiver.calls.filter(({ status }) => status === 200);
      return taken.map(({ headers, body, atMs }) => ({
        atMs,
        id: String(headers['x-wellsync-id']),
        body: JSON.parse(body) as unknown,
      }));
    },
    said: () => receiver.calls.map(({ headers, body }) => `${JSON.stringify(headers)}\n${body}`),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

interface Manifest {
  readonly version: number;
  readonly monthsDue: number;
  readonly lastRestatement: number;
  readonly files: ReadonlyArray<{
    readonly path: string;
    readonly table: string;
    readonly month?: string;
    readonly rows: number;
    readonly bytes: number;
    readonly sha256: string;
  }>;
}

/** Reads the feed in `folder` as docs/feed.md says to; undefined while there is none. */
export async function readFeed(folder: string): Promise<FeedReading | undefined> {
  const atMs = Date.now();
  const text = await readFile(path.join(folder, 'manifest.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const faults: string[] = [];
  try {
    const { version, files, monthsDue, lastRestatement } = JSON.parse(text) as Manifest;
    for (const file of files) {
      const content = await readFile(path.join(folder, file.path)).catch(() => undefined);
      if (content === undefined) faults.push(`${file.path} of version ${version} is not there`);
      else if (content.length !== file.bytes) faults.push(`${file.path} has ${content.length} of ${file.bytes} bytes`);
      else if (createHash('sha256').update(content).digest('hex') !== file.sha256)
        faults.push(`${file.path} has another content than version ${version} says`);
    }
    const ofDays = files.filter(({ table }) => table === 'daily_production');
    const rows = Object.fromEntries(ofDays.map(({ month = '', rows: count }) => [month.slice(0, 7), count]));
    return { atMs, version, faults, content: { rows, monthsDue, lastRestatement } };
  } catch (error) {
    return { atMs, version: -1, faults: [`manifest.json cannot be read: ${String(error)}`] };
  }
}

/** The files below a folder, by their path. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

/** Where a secret stands; of a secret a part of 12 characters is enough. */
export async function leaksIn(
  secrets: readonly string[],
  {
    files,
    texts,
    redis,
  }: {
    readonly files: readonly string[];
    readonly texts: Readonly<Record<string, readonly string[]>>;
    readonly redis: Redis | null;
  },
): Promise<ReadonlyArray<{ readonly where: string; readonly secret: string }>> {
  const parts = secrets.flatMap((secret) => [secret.slice(0, 16), secret.slice(-12)]);
  const leaks: { readonly where: string; readonly secret: string }[] = [];
  const search = (where: string, content: string): void => {
    for (const part of parts) if (content.includes(part)) leaks.push({ where, secret: part });
  };
  for (const file of files) search(file, await readFile(file, 'latin1').catch(() => ''));
  for (const [where, said] of Object.entries(texts)) for (const each of said) search(where, each);
  if (redis !== null) search('redis', await contentOf(redis));
  return leaks;
}

/** Every key with its value. A dump would have long ones compressed. */
async function contentOf(redis: Redis): Promise<string> {
  let content = '';
  for await (const keys of redis.scanStream({ count: 500 })) {
    for (const key of keys as readonly string[]) {
      content += `${key} ${JSON.stringify(await valueOf(redis, key))}\n`;
    }
  }
  return content;
}

async function valueOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, 0, '-1');
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return null;
  }
}
