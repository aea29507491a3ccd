import type { SqlDatabase } from '../../sql/session.ts';
import type { DatabaseFile } from './database-file.ts';
import { messageOf } from './engine-fault.ts';
import { sessionOf } from './session.ts';

/** The file as the stores know it. Nothing that a transaction does in a file is in the way of another one. */
export function databaseOf(file: DatabaseFile): SqlDatabase {
  const transact: SqlDatabase['transact'] = (work) => file.transact((connection) => work(sessionOf(connection)));
  return {
    service: file.service,
    transact,
    transactOnce: transact,
    fence: (...fence) => file.fence(...fence),
    tableFault,
  };
}

function tableFault(error: unknown): string | undefined {
  const [message = ''] = messageOf(error).split('\n', 1);
  return /^(?:Catalog|Binder) Error/.test(message) ? message : undefined;
}
