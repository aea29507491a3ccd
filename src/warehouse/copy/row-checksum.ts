/** A figure for the rows of a table, whatever their order: two engines sort text, and show it, in ways of their own. */
import { createHash } from 'node:crypto';
import type { SqlSession } from '../sql/session.ts';

export interface TableChecksum {
  readonly rows: number;
  /** 32 hexadecimal digits. */
  readonly checksum: string;
}

const bytes = 16;
const modulus = 2n ** 128n;

/** The sum of the hashes of its rows. Reads all of it, of which little is in memory at one time (G8). */
export async function checksumOf(
  session: SqlSession,
  table: string,
  columns: readonly string[],
): Promise<TableChecksum> {
  let rows = 0;
  let sum = 0n;
  const select = `SELECT ${columns.map((name) => `"${name}"`).join(', ')} FROM ${table}`;
  for await (const row of session.stream<Record<string, unknown>>(select)) {
    const text = JSON.stringify(columns.map((name) => comparable(row[name])));
    const digest = createHash('sha256').update(text).digest().subarray(0, bytes);
    sum = (sum + BigInt(`0x${digest.toString('hex')}`)) % modulus;
    rows += 1;
  }
  return { rows, checksum: sum.toString(16).padStart(2 * bytes, '0') };
}

/** A value as both engines have it: 0 for -0, and no text with U+0000, which PostgreSQL does not hold. */
function comparable(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : String(value);
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
}
