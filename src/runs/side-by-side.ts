/** Owns doing the same to many things, a few at one time. */

/**
 * Calls `act` for each item in order, at most `width` of them at one time. The first error ends it, once what was begun has
 * ended; no further item is begun then.
 */
export async function sideBySide<T>(items: Iterable<T>, width: number, act: (item: T) => Promise<void>): Promise<void> {
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
