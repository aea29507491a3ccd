/** What a command asks of the queue of the working process: these calls of the port, and no others. */
import type { RunQueue } from '../port.ts';

const ofQueue = ['submit', 'isSubmitted', 'hasten', 'chunkStatuses', 'workers', 'itemCounts'] as const;

const ofParts = {
  identity: ['read'],
  progress: ['read', 'requestStop', 'forget', 'finish'],
  serviceHold: ['read', 'readOutage', 'lift'],
  metrics: ['raise', 'set', 'read'],
  runLog: ['read'],
} as const;

type Parts = typeof ofParts;

export type Asked = Pick<RunQueue, (typeof ofQueue)[number]> & {
  readonly [Part in keyof Parts]: Pick<RunQueue[Part], Parts[Part][number] & keyof RunQueue[Part]>;
};

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** The calls by their names, such as `progress.read`. */
export function callsOf(queue: Asked): ReadonlyMap<string, Method> {
  const methods = (part: object, names: readonly string[]): readonly (readonly [string, Method])[] =>
    names.map((name) => [name, (part as Readonly<Record<string, Method>>)[name]?.bind(part) as Method]);
  const inParts = Object.entries(ofParts).flatMap(([part, names]) =>
    methods(queue[part as keyof Parts], names).map(([name, method]) => [`${part}.${name}`, method] as const),
  );
  return new Map([...methods(queue, ofQueue), ...inParts]);
}

/** The same calls over a connection. */
export function askedThrough(call: (name: string, args: readonly unknown[]) => Promise<unknown>): Asked {
  const methods = (names: readonly string[], prefix = ''): Readonly<Record<string, Method>> =>
    Object.fromEntries(names.map((name) => [name, (...args) => call(`${prefix}${name}`, args)]));
  const parts = Object.entries(ofParts).map(([part, names]) => [part, methods(names, `${part}.`)]);
  return { ...methods(ofQueue), ...Object.fromEntries(parts) } as Asked;
}
