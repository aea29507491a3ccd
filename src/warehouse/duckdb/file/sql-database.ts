import type { SqlDatabase } from '../../sql/session.ts';
import type { DatabaseFile } from './database-file.ts';
import { sessionOf } from './session.ts';

/** The file as the stores know it. Nothing that a transaction does in a file is in the way of another one. */
export function databaseOf(file: DatabaseFile): SqlDatabase {
  const transact: SqlDatabase['transact'] = (work) => file.transact((connection) => work(sessionOf(connection)));
  return { service: file.service, transact, transactOnce: transact, fence: (...fence) => file.fence(...fence) };
}
