/** A database that a copy has not filled to its end: it looks like a warehouse, and lacks rows (G1, G11). */
import { UnreachableError } from '../../core/base/errors.ts';
import type { SqlSession } from '../sql/session.ts';

/** Has the places of a copy (../copy/copy-tables.ts), and is dropped when all tables are equal. */
const copiedTable = 'copied_table';

/** By the catalog, which a role without rights on the schema `internal` reads as well. */
const isThere = `SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'internal' AND c.relname = '${copiedTable}'`;

/** Throws UnreachableError while a copy into the database is unfinished. */
export async function refuseHalfCopy(session: SqlSession, location: string): Promise<void> {
  if ((await session.rows(isThere)).length === 0) return;
  throw new UnreachableError('warehouse', `a copy into ${location} is unfinished: it is no warehouse yet`, {
    hint: 'Run the same wellsync warehouse copy again, which goes on where it was; or copy to a new database.',
  });
}
