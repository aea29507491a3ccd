/** What a command asks of the queue of the working process: these calls of the port, and no others. */
import { z } from 'zod';
import type { RunQueue } from '../port.ts';

const runId = z.string().min(1).max(200);
const run = z.tuple([runId]);
const runOfGeneration = z.tuple([runId, z.int()]);
const nothing = z.tuple([]);
const figures = z.map(z.string().max(1_000), z.number());
const fault = z.object({ code: z.string(), message: z.string() }).loose();
const stopRequest = z.union([
  z.strictObject({ kind: z.literal('cancel'), requestedBy: z.string() }),
  z.strictObject({ kind: z.literal('stop'), fault }),
]);

/** By its name, the arguments of each. */
const ofQueue = {
  submit: runOfGeneration,
  isSubmitted: runOfGeneration,
  hasten: runOfGeneration,
  chunkStatuses: run,
  workers: nothing,
  itemCounts: nothing,
} as const;

const ofParts = {
  identity: { read: nothing },
  progress: {
    read: run,
    requestStop: z.tuple([runId, stopRequest]),
    forget: run,
    finish: z.tuple([runId, z.enum(['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted'])]),
  },
  serviceHold: { read: nothing, readOutage: nothing, lift: nothing },
  metrics: { raise: z.tuple([z.string().max(200), figures]), set: z.tuple([figures]), read: nothing },
  runLog: { read: run },
} as const;

type Parts = typeof ofParts;

export type Asked = Pick<RunQueue, keyof typeof ofQueue> & {
  readonly [Part in keyof Parts]: Pick<RunQueue[Part], keyof Parts[Part] & keyof RunQueue[Part]>;
};

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** The calls by their names, such as `progress.read`. They reject arguments of another shape. */
export function callsOf(queue: Asked): ReadonlyMap<string, Method> {
  const methods = (part: object, schemas: Readonly<Record<string, z.ZodType<readonly unknown[]>>>, prefix = '') =>
    Object.entries(schemas).map(([name, schema]): readonly [string, Method] => {
      const method = (part as Readonly<Record<string, Method>>)[name]?.bind(part) as Method;
      return [`${prefix}${name}`, async (...args) => method(...schema.parse(args))];
    });
  const inParts = Object.entries(ofParts).flatMap(([part, schemas]) =>
    methods(queue[part as keyof Parts], schemas, `${part}.`),
  );
  return new Map([...methods(queue, ofQueue), ...inParts]);
}

/** The same calls over a connection. */
export function askedThrough(call: (name: string, args: readonly unknown[]) => Promise<unknown>): Asked {
  const methods = (names: object, prefix = ''): Readonly<Record<string, Method>> =>
    Object.fromEntries(Object.keys(names).map((name) => [name, (...args) => call(`${prefix}${name}`, args)]));
  const parts = Object.entries(ofParts).map(([part, names]) => [part, methods(names, `${part}.`)]);
  return { ...methods(ofQueue), ...Object.fromEntries(parts) } as Asked;
}
