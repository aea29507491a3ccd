/** The Redis of a test: a shared one, or a private one that the test may kill and restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { redisProgram, type RedisAccess, startRedis } from '../../scripts/setup/private-redis.mjs';

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
  /** SIGSTOP: it holds its connections, and answers nothing until {@link goOn}. */
  hang(): void;
  goOn(): void;
  /** SIGKILL, like a loss of power; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM, an orderly shutdown; resolves when the process is gone. */
  stop(): Promise<void>;
  /** Restarts the server on the same port, with the content of its append-only file; resolves when it answers. */
  restart(): Promise<void>;
}

export interface RedisServerOptions {
  /** Whether it keeps an append-only file, synced every second; else it stores nothing. */
  readonly appendonly: boolean;
  /** A program in place of the first redis-server or valkey-server of the PATH. */
  readonly program?: string;
  /** More arguments, for its port. */
  readonly more?: (port: number) => readonly string[];
  /** How a client gets in, where that is not by a plain connection. */
  readonly access?: RedisAccess;
}

/** Starts a server. */
export async function startPrivateRedis(options: RedisServerOptions): Promise<PrivateRedis> {
  const { program = redisProgram(), more, access } = options;
  if (program === undefined) throw new Error(privateRedisLack());
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-redis-'));
  const start = async (port?: number) =>
    startRedis({
      program,
      ...(port === undefined ? {} : { port }),
      ...(options.appendonly ? { appendOnlyFolder: folder } : {}),
      ...(more === undefined ? {} : { more }),
      ...(access === undefined ? {} : { access }),
    });
  let server = await start();
  const { url } = server;
  const stop = async (): Promise<void> => {
    await server.stop();
  };
  const send = (signal: NodeJS.Signals): void => {
    try {
      process.kill(server.pid, signal);
    } catch (error) {
      // The process has already ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  return {
    url,
    stop,
    hang: () => send('SIGSTOP'),
    goOn: () => send('SIGCONT'),
    async kill() {
      send('SIGKILL');
      await server.exited;
    },
    async restart() {
      await stop();
      server = await start(Number(new URL(url).port));
    },
    async [Symbol.asyncDispose]() {
      // One that hangs would not see a SIGTERM.
      send('SIGCONT');
      await stop();
      await rm(folder, { recursive: true });
    },
  };
}
