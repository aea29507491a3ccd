/**
 * A hostile Production Data Service on a raw socket: a well is named after what its answer does (./hostile-modes.ts).
 * Wells whose name begins with `good` are healthy.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** The range that a request asks for, as it was sent. */
export interface AskedRange {
  readonly startDate: string;
  readonly endDate: string;
}

/** Writes one answer to a request for a page, which is counted from 0. */
export type HostileMode = (socket: Socket, page: number, range: AskedRange) => void;

export interface HostileServer extends AsyncDisposable {
  readonly baseUrl: string;
}

export const goodRows = 9;

/** A good record, by its number. */
export function goodRecord(index: number, fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    xid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    date: new Date(Date.UTC(2024, 0, 1 + index)).toISOString(),
    oilRate: index,
    gasRate: 0,
    waterRate: 0,
    tubingPressure: 0,
    casingPressure: 0,
    ...fields,
  };
}

export function headOf(status: number | string, headers: Readonly<Record<string, string | number>> = {}): string {
  const fields = Object.entries({ 'content-type': 'application/json', connection: 'close', ...headers });
  return `HTTP/1.1 ${status} Said\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** A whole answer. */
export function answer(
  socket: Socket,
  body: string | Buffer,
  status = 200,
  headers: Readonly<Record<string, string | number>> = {},
): void {
  const bytes = Buffer.from(body);
  socket.write(headOf(status, { 'content-length': bytes.length, ...headers }));
  socket.end(bytes);
}

const healthy: HostileMode = (socket, page) =>
  answer(socket, JSON.stringify(page === 0 ? Array.from({ length: goodRows }, (_, index) => goodRecord(index)) : []));

export async function startHostileServer(modes: Readonly<Record<string, HostileMode>>): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    let text = '';
    socket.on('data', (part) => {
      text += part.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      const { well, page, range } = asked(text);
      text = '';
      // A name may end with a number: wells of one mode.
      const mode = well.startsWith('good') ? healthy : modes[well.replace(/~\d+$/, '')];
      if (mode === undefined) answer(socket, '', 404);
      else mode(socket, page, range);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function asked(request: string): { readonly well: string; readonly page: number; readonly range: AskedRange } {
  const { pathname, searchParams } = new URL(request.split(' ')[1] ?? '/', 'http://service');
  const range = { startDate: searchParams.get('startDate') ?? '', endDate: searchParams.get('endDate') ?? '' };
  return {
    well: decodeURIComponent(pathname.split('/').at(-1) ?? ''),
    page: Number(searchParams.get('page') ?? 0),
    range,
  };
}
