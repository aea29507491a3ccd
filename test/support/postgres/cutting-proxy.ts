/** A TCP proxy before a PostgreSQL server that cuts connections: at a commit, or at any message of the client. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where it cuts: before the server has COMMIT, or after the server has answered it, before the client hears so. */
export type Cut = 'before the commit' | 'after the commit';

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections that were cut. */
  readonly cuts: number;
  /** Messages of clients since the last call of `cutAt`. */
  readonly messages: number;
  /** Cuts the connections of the next commits. */
  cutNext(cut: Cut, times?: number): void;
  /** Does something while the next commit is held, and then cuts it: the server never has it. Who connects meanwhile waits. */
  holdNext(act: () => Promise<unknown>): void;
  /** Cuts the connection of the next commit before the server has it, and takes no other one afterwards. */
  cutForGood(): void;
  /** Counts messages from 1 on, and cuts once: before the server has this one, or when it answers it. Infinity: never. */
  cutAt(message: number, when: 'before it' | 'after it'): void;
  /** Passes no byte on any more; connections stay open. */
  hang(): void;
}

/** A query of the simple protocol, which pg uses for a statement without values: 'Q', length, text, 0. */
const commitMessage = Buffer.concat([Buffer.from('Q'), Buffer.from([0, 0, 0, 11]), Buffer.from('COMMIT\0')]);

/** `port`: its own; a free one by default. */
export async function startCuttingProxy(serverPort: number, port = 0): Promise<CuttingProxy> {
  const planned: (Cut | (() => Promise<unknown>))[] = [];
  let held: Promise<unknown> = Promise.resolve();
  const sockets = new Set<Socket>();
  let cuts = 0;
  let messages = 0;
  let hangs = false;
  let isLast = false;
  let at = { message: Infinity, when: 'before it' as 'before it' | 'after it' };
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  };
  const serve = (client: Socket): void => {
    const server = connect(serverPort, '127.0.0.1');
    let isCutting = false;
    const cut = (): void => {
      cuts += 1;
      if (isLast) end();
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroy());
    client.on('data', (data) => {
      if (hangs) return;
      const plan = data.includes(commitMessage) ? planned.shift() : undefined;
      messages += 1;
      const isAt = messages === at.message;
      if (typeof plan === 'function') held = plan().finally(cut);
      else if (plan === 'before the commit' || (isAt && at.when === 'before it')) cut();
      else {
        isCutting ||= plan !== undefined || isAt;
        server.write(data);
      }
    });
    server.on('data', (data) => {
      if (!hangs) void (isCutting ? cut() : client.write(data));
    });
  };
  const proxy = createServer((client) => {
    client.on('error', () => undefined);
    void held.then(() => serve(client));
  }).listen(port, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
    get messages() {
      return messages;
    },
    cutAt(message, when) {
      messages = 0;
      at = { message, when };
    },
    hang() {
      hangs = true;
    },
    cutNext: (cut, times = 1) => planned.push(...Array.from({ length: times }, () => cut)),
    holdNext: (act) => void planned.push(act),
    cutForGood() {
      planned.push('before the commit');
      isLast = true;
    },
    async [Symbol.asyncDispose]() {
      if (!proxy.listening) return;
      end();
      await once(proxy, 'close');
    },
  };
}
