/** Values of rows as they were dumped, and what the checks have in common to say about them. */
import type { Evidence, TableRow, Violation } from '../evidence.ts';

export const dayMs = 86_400_000;

/** The rows of a table; none for a table that was not dumped. */
export function rowsOf({ tables }: Pick<Evidence, 'tables'>, name: string): readonly TableRow[] {
  return tables[name] ?? [];
}

/** The text of a column, empty for null. */
export function textOf(row: TableRow, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
}

/** The number of a column, also where a large one was dumped as text; undefined for null. */
export function numberOf(row: TableRow, column: string): number | undefined {
  const value = row[column];
  return value === null || value === undefined ? undefined : Number(value);
}

/** The object of a JSON column; empty for null, for text that is no JSON, and for JSON that is no object. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  const parsed = typeof value === 'string' ? parsedOf(value) : value;
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
    ? (parsed as Readonly<Record<string, unknown>>)
    : {};
}

/** The value of a JSON text; undefined for text that is none. */
export function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const instant = /^(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\d*(?:Z|[+-]00(?::?00)?)$/;

/** Microseconds since 1970 of a column with an instant; undefined for null. Throws Error for another text. */
export function microsOf(row: TableRow, column: string): number | undefined {
  const text = textOf(row, column);
  if (text === '') return undefined;
  const match = instant.exec(text);
  if (match === null) throw new Error(`${column} is ${JSON.stringify(text)}, not an instant in UTC`);
  const [, day = '', time = '', fraction = ''] = match;
  return Date.parse(`${day}T${time}Z`) * 1_000 + Number(fraction.padEnd(6, '0'));
}

/** As {@link microsOf}, in milliseconds with a fraction. */
export function msOf(row: TableRow, column: string): number | undefined {
  const micros = microsOf(row, column);
  return micros === undefined ? undefined : micros / 1_000;
}

/** The first ten characters of a day or an instant: YYYY-MM-DD. */
export function dayAt(row: TableRow, column: string): string {
  return textOf(row, column).slice(0, 10);
}

/** YYYY-MM-DD of an instant, in UTC. */
export function dayOfMs(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Whether two JSON values are the same, whatever the order of their members. */
export function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [one, other] = [Object.entries(left), new Map(Object.entries(right))];
  return one.length === other.size && one.every(([name, value]) => other.has(name) && isSame(value, other.get(name)));
}

/** Values by key, in their order. */
export function groupedBy<T>(values: Iterable<T>, keyOf: (value: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** A violation; `atMs` and `detail` where they are known. */
export function violated(
  guarantee: string,
  what: string,
  { atMs, ...detail }: Readonly<Record<string, unknown>> & { readonly atMs?: number | undefined } = {},
): Violation {
  return {
    guarantee,
    what,
    ...(atMs !== undefined && { atMs }),
    ...(Object.keys(detail).length > 0 && { detail }),
  };
}
