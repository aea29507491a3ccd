/** A clock that tests move: processes under libfaketime read it from one file, at each look. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { redisProgram } from '../../../scripts/setup/private-redis.mjs';
import { privateRedisLack } from '../redis.ts';

const libraries = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/local/lib', '/usr/lib'].map(
  (folder) => `${folder}/faketime/libfaketime.so.1`,
);

/** Why no clock can be moved here; undefined if one can. */
export function movedClockLack(): string | undefined {
  const hasLibrary = libraries.some((library) => existsSync(library));
  return hasLibrary ? privateRedisLack() : 'there is no libfaketime (Debian: apt-get install faketime)';
}

export interface MovedClock {
  /** The environment of processes that go by it. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on it is this instant, milliseconds since 1970, and goes on from there. */
  moveTo(instantMs: number): Promise<void>;
}

/** `file`: where the clock is kept. Timers and the times of files stay those of the machine. */
export function movedClock(file: string): MovedClock {
  return {
    env: {
      LD_PRELOAD: libraries.find((library) => existsSync(library)) ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
    moveTo: (instantMs) => writeFile(file, `+${((instantMs - Date.now()) / 1_000).toFixed(3)}\n`),
  };
}

/** A Redis by that clock. */
export async function redisByClock(
  port: number,
  { env }: MovedClock,
): Promise<AsyncDisposable & { readonly url: string }> {
  const program = redisProgram();
  if (program === undefined) throw new Error(privateRedisLack());
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  // Its own allocator asks for the time before the library is ready.
  const preload = `${env['LD_PRELOAD']}:libc.so.6`;
  const server = spawn(program, args, { env: { PATH: process.env['PATH'] ?? '', ...env, LD_PRELOAD: preload } });
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (text: Buffer) => {
        said += text.toString();
        if (said.includes('Ready to accept connections')) resolve();
      });
    }
    server.once('close', () => reject(new Error(`the Redis of the moved clock ended: ${said}`)));
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.kill('SIGKILL');
      await ended;
    },
  };
}
