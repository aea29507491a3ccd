/** A client of server-sent events, over a socket of its own. */
import { connect, type Socket } from 'node:net';
import { vi } from 'vitest';

export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

export interface EventStream extends Disposable {
  readonly socket: Socket;
  /** Headers and body so far, as they came. */
  readonly text: () => string;
  readonly events: () => readonly StreamEvent[];
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  /** Waits for an event that holds all of these words in its text. */
  hears(...words: readonly string[]): Promise<StreamEvent>;
}

export function openStream(
  url: string,
  { token, cookie, lastId }: { readonly token?: string; readonly cookie?: string; readonly lastId?: string } = {},
): EventStream {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  socket.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  const headers = [
    'GET /api/v1/events HTTP/1.1',
    `Host: ${hostname}:${port}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(cookie === undefined ? [] : [`Cookie: ${cookie}`]),
    ...(lastId === undefined ? [] : [`Last-Event-ID: ${lastId}`]),
  ];
  socket.write(`${headers.join('\r\n')}\r\n\r\n`);
  const events = (): readonly StreamEvent[] => [...text.matchAll(frame)].map(eventOf);
  return {
    socket,
    text: () => text,
    events,
    ended,
    hears: (...words) =>
      vi.waitFor(
        () => {
          const found = events().find((event) => words.every((word) => JSON.stringify(event).includes(word)));
          if (found === undefined) throw new Error(`no event with ${words.join(', ')} in:\n${text}`);
          return found;
        },
        { timeout: 60_000 },
      ),
    [Symbol.dispose]: () => socket.destroy(),
  };
}

const frame = /^id: (\S+)\nevent: (\w+)\ndata: (.*)$/gm;

function eventOf([, id = '', event = '', data = 'null']: RegExpMatchArray): StreamEvent {
  return { id, event, data: JSON.parse(data) as unknown };
}
