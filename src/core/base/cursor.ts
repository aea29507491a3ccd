/** Cursors of lists: where the next page begins, as one text that a caller hands on and never reads. */
import { UsageError } from './errors.ts';

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
