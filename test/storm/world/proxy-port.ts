/** The port of a proxy, which can be closed, so that connections are refused, and opened again. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export const host = '127.0.0.1';

/** Below the ports that systems give to outgoing connections: none of those takes the port while it is closed. */
const firstPort = 20_000;
const portCount = 12_000;
const againMs = 20;

export class ProxyPort {
  readonly port: number;
  readonly #server: Server;
  #last: Promise<void> = Promise.resolve();
  #shouldListen = true;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Listens on a free port. */
  static async open(onConnection: (client: Socket) => void): Promise<ProxyPort> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
    for (;;) {
      const port = firstPort + Math.floor(Math.random() * portCount);
      if (await listens(server, port)) return new ProxyPort(server, port);
    }
  }

  /** Opens or closes it; resolves when that is so, or when a later call has decided otherwise. */
  async set(shouldListen: boolean): Promise<void> {
    this.#shouldListen = shouldListen;
    // One after the other: the server takes no call while one is under way.
    this.#last = this.#last.then(() => this.#settle());
    await this.#last;
  }

  async #settle(): Promise<void> {
    if (!this.#shouldListen && this.#server.listening) this.#server.close();
    while (this.#shouldListen && !this.#server.listening) {
      if (!(await listens(this.#server, this.port))) await sleep(againMs);
    }
  }
}

/** Whether it listens now: false where the port is taken. */
async function listens(server: Server, port: number): Promise<boolean> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
