/** A server that can stop listening for a while, and listen again on its port. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const tries = 100;
const delayMs = 50;

/** Listens on 127.0.0.1 and returns the port; 0 takes a free one. Waits for up to 5 s for a port that is in use. */
export async function listen(server: Server, port: number): Promise<number> {
  for (let left = tries; ; left -= 1) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => {
          server.off('error', reject);
          resolve();
        });
      });
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || left === 1) throw error;
      await sleep(delayMs);
    }
  }
}

/** Refuses connections from now on, and ends those that are open. */
export async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
