/** Lines of JSON between the working process and the commands of its host: a call of the queue's port, and its answer. */
import { createInterface } from 'node:readline';
import type { Socket } from 'node:net';
import { z } from 'zod';

/** What a command may say in a line: a longer one ends the connection. A metric report has some ten thousand bytes. */
export const mostCallChars = 4_000_000;

export const callSchema = z.strictObject({ id: z.int(), call: z.string(), args: z.array(z.unknown()) });
export const answerSchema = z.strictObject({
  id: z.int(),
  value: z.unknown().optional(),
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
});

export type CallMessage = z.infer<typeof callSchema>;
export type AnswerMessage = z.infer<typeof answerSchema>;

/** Resolves when the system has the message, or the connection has ended. */
export function send(socket: Socket, message: CallMessage | AnswerMessage): Promise<void> {
  const line = `${JSON.stringify(message, (_, value: unknown) => encoded(value))}\n`;
  return new Promise((resolve) => {
    if (!socket.writable) return resolve();
    socket.write(line, () => resolve());
  });
}

/** Called with each line that is JSON; the connection ends with one that is not, or that is longer than `mostChars`. */
export function receive(socket: Socket, onMessage: (message: unknown) => void, mostChars = Infinity): void {
  let pending = 0;
  socket.on('data', (data: Buffer) => {
    const end = data.lastIndexOf(10);
    pending = end < 0 ? pending + data.length : data.length - end - 1;
    if (pending > mostChars) socket.destroy();
  });
  const lines = createInterface({ input: socket, crlfDelay: Infinity });
  lines.on('line', (line) => {
    try {
      onMessage(JSON.parse(line, (_, value: unknown) => decoded(value)));
    } catch {
      socket.destroy();
    }
  });
  lines.on('error', () => socket.destroy());
}

/** JSON has no maps. */
function encoded(value: unknown): unknown {
  return value instanceof Map ? { $map: [...(value as ReadonlyMap<unknown, unknown>)] } : value;
}

function decoded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('$map' in value)) return value;
  return new Map(value.$map as ReadonlyArray<readonly [unknown, unknown]>);
}
