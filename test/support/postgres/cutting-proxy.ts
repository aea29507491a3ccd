/** A TCP proxy before a PostgreSQL server that cuts connections while the client commits. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where it cuts: before the server has COMMIT, or after the server has answered it, before the client hears so. */
export type Cut = 'before the commit' | 'after the commit';

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections that were cut. */
  readonly cuts: number;
  /** Cuts the connections of the next commits. */
  cutNext(cut: Cut, times?: number): void;
}

/** A query of the simple protocol, which pg uses for a statement without values: 'Q', length, text, 0. */
const commitMessage = Buffer.concat([Buffer.from('Q'), Buffer.from([0, 0, 0, 11]), Buffer.from('COMMIT\0')]);

/** `port`: its own; a free one by default. */
export async function startCuttingProxy(serverPort: number, port = 0): Promise<CuttingProxy> {
  const planned: Cut[] = [];
  const sockets = new Set<Socket>();
  let cuts = 0;
  const proxy = createServer((client) => {
    const server = connect(serverPort, '127.0.0.1');
    let isCutting = false;
    const cut = (): void => {
      cuts += 1;
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
      const plan = data.includes(commitMessage) ? planned.shift() : undefined;
      if (plan === 'before the commit') cut();
      else {
        isCutting ||= plan !== undefined;
        server.write(data);
      }
    });
    server.on('data', (data) => (isCutting ? cut() : client.write(data)));
  }).listen(port, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
    cutNext: (cut, times = 1) => planned.push(...Array.from({ length: times }, () => cut)),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
