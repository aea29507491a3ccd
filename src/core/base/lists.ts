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
 * Calls `act` for each item in order, at most `width` at one time. At the first error it begins no further item, waits
 * for those under way, and rejects.
 */
export async function mapConcurrent<T>(
  items: Iterable<T>,
  width: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true && errors.length === 0; next = queue.next()) {
      await act(next.value).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  if (errors.length > 0) throw errors[0];
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
