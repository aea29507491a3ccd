/**
 * The PostgreSQL servers that a run of the tests shares: one a release, started when the first test asks for it. The main
 * process of the run starts them (vitest's globalSetup), and ends them with the run; the processes of the tests ask it
 * over HTTP. WELLSYNC_TEST_POSTGRES_URL names a server to take for the newest release instead.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PostgresRelease } from './postgres-program.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

const starterVariable = 'WELLSYNC_TEST_POSTGRES_STARTER';

/** Once for the projects of a run; returns what ends the servers. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[starterVariable] !== undefined) return undefined;
  const servers = new Map<string, Promise<PostgresServer>>();
  const starter = createServer((request, response) => {
    const release = (request.url ?? '').slice(1) as PostgresRelease;
    const server = servers.get(release) ?? startPostgres(release);
    servers.set(release, server);
    server.then(
      ({ adminUrl }) => response.end(adminUrl),
      (error: unknown) => response.writeHead(503).end(error instanceof Error ? error.message : String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(starter, 'listening');
  process.env[starterVariable] = `http://127.0.0.1:${(starter.address() as AddressInfo).port}`;
  return async () => {
    starter.closeAllConnections();
    starter.close();
    const started = await Promise.allSettled(servers.values());
    await Promise.all(started.map(async (each) => (each.status === 'fulfilled' ? each.value.dispose() : undefined)));
  };
}

/** A server, or why there is none. */
export type SharedPostgres = { readonly adminUrl: string } | { readonly lack: string };

export async function sharedPostgres(release: PostgresRelease): Promise<SharedPostgres> {
  const named = process.env['WELLSYNC_TEST_POSTGRES_URL'];
  if (release === 'newest' && named !== undefined && named !== '') return { adminUrl: named };
  const starter = process.env[starterVariable];
  if (starter === undefined) return { lack: 'the run has no starter of servers (vitest.config.ts)' };
  const response = await fetch(`${starter}/${release}`);
  const text = await response.text();
  return response.ok ? { adminUrl: text } : { lack: text };
}
