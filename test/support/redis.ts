/** The Redis of a test: a shared one, or a private one that the test may kill and restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { redisProgram, startRedis } from '../../scripts/setup/private-redis.mjs';

/** The shared Redis; each test uses its own queue prefix. */
export function sharedRedisUrl(): string {
  const url = process.env['WELLSYNC_TEST_REDIS_URL'];
  if (url === undefined) throw new Error('WELLSYNC_TEST_REDIS_URL is not set: run the tests by `npm test -- FILTER`.');
  return url;
}

/** The reason why {@link startPrivateRedis} cannot run on this machine; undefined if it can. */
export function privateRedisLack(): string | undefined {
  return redisProgram() === undefined ? 'there is no redis-server or valkey-server on the PATH to kill' : undefined;
}

/** A private server. It ends with `await using` or with the test process. */
export interface PrivateRedis extends AsyncDisposable {
  /** The same before and after a restart. */
  readonly url: string;
  /** SIGKILL, like a loss of power; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM, an orderly shutdown; resolves when the process is gone. */
  stop(): Promise<void>;
  /** Restarts the server on the same port, with the content of its append-only file; resolves when it answers. */
  restart(): Promise<void>;
}

/** Starts a server. With `appendonly` it keeps an append-only file, synced every second; else it stores nothing. */
export async function startPrivateRedis(options: { readonly appendonly: boolean }): Promise<PrivateRedis> {
  const program = redisProgram();
  if (program === undefined) throw new Error(privateRedisLack());
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-redis-'));
  const start = async (port?: number) =>
    startRedis({
      program,
      ...(port === undefined ? {} : { port }),
      ...(options.appendonly ? { appendOnlyFolder: folder } : {}),
    });
  let server = await start();
  const { url } = server;
  const stop = async (): Promise<void> => {
    await server.stop();
  };
  return {
    url,
    stop,
    async kill() {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
    },
    async restart() {
      await stop();
      server = await start(Number(new URL(url).port));
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}
