/** Names of the service of a warehouse: its key, and the addresses in its records. */
import type { SqlSession } from '../session.ts';

/**
 * SQL of a relation with every name of the service at the address that is bound at `parameter`, including that address.
 */
export function namesOfService(parameter: string): string {
  const key = `coalesce((SELECT service FROM service_alias WHERE address = ${parameter}), ${parameter})`;
  return `(SELECT ${parameter} UNION SELECT ${key} UNION SELECT address FROM service_alias WHERE service = ${key})`;
}

export async function readNames(session: SqlSession, address: string): Promise<readonly string[]> {
  const rows = await session.rows<{ name: string }>(`SELECT name FROM ${namesOfService('$1')} n(name)`, [address]);
  return rows.map(({ name }) => name);
}
