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
