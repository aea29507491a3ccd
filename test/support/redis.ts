/** Owns the Redis of a test: the one that all share, or a private one that the test may kill and restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { redisProgram, startRedis } from '../../scripts/setup/private-redis.mjs';

/** The shared one; whoever uses it keeps to a queue prefix of its own. */
export function sharedRedisUrl(): string {
  const url = process.env['WELLSYNC_TEST_REDIS_URL'];
  if (url === undefined) throw new Error('WELLSYNC_TEST_REDIS_URL is not set: run the tests by `npm test -- FILTER`.');
  return url;
}

/** What a machine lacks for {@link startPrivateRedis}, as the reason to skip; undefined where it lacks nothing. */
export function privateRedisLack(): string | undefined {
  return redisProgram() === undefined ? 'there is no redis-server or valkey-server on the PATH to kill' : undefined;
}

/** A server of the test's own. It outlives neither `await using` nor the test process. */
export interface PrivateRedis extends AsyncDisposable {
  /** The same before and after a restart. */
  readonly url: string;
  /** SIGKILL, as a machine that loses power; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM, as an orderly shutdown; resolves when it is gone. */
  stop(): Promise<void>;
  /** Starts it again on the same port, with what its append-only file kept; resolves when it answers. */
  restart(): Promise<void>;
}

/** Starts a server; with `appendonly` it keeps an append-only file, synced every second, else it forgets everything. */
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
