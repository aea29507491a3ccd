/** Lists: items by key, work on several items at once, and where the next page of a list begins. */
import { UsageError } from './errors.ts';

/** The items by key, in their order. */
export function grouped<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * Calls `act` for each item in order, at most `width` at one time. At the first error, of the items or of a call, it
 * begins no further item, waits for those under way, and rejects.
 */
export async function mapConcurrent<T>(
  items: Iterable<T> | AsyncIterable<T>,
  width: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const queue = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const errors: unknown[] = [];
  const lane = async (): Promise<void> => {
    try {
      for (let next = await queue.next(); next.done !== true && errors.length === 0; next = await queue.next())
        await act(next.value);
    } catch (error) {
      errors.push(error);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  if (errors.length > 0) throw errors[0];
}

/** The items, each asked for while the one before it is used. */
export async function* readAhead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const queue = items[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = queue.next();
    // Thrown when it is used, if it is.
    asked.catch(() => undefined);
    return asked;
  };
  for (let asked = ask(); ;) {
    const next = await asked;
    if (next.done === true) return;
    asked = ask();
    yield next.value;
  }
}

// Cursors of lists: where the next page begins, as one text that a caller hands on and never reads.

/** The cursor behind an entry, of the fields that give it its position in the list. */
export function cursorOf(...position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** The fields that a cursor was made of. Throws UsageError, with the name of the list, for a text that is none of it. */
export function readCursor<Position>(
  cursor: string,
  schema: { readonly parse: (value: unknown) => Position },
  {
    list,
    hint = 'Take the cursor that the page before gave, whole.',
  }: { readonly list: string; readonly hint?: string },
): Position {
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch (cause) {
    throw new UsageError(`${JSON.stringify(cursor)} is not a cursor of ${list}`, { hint, cause });
  }
}
