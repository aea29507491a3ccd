/** Daily production, as both engines store it: what differs is a {@link DailyEngine}. */
import type { DailyProductionStore } from '../../port/daily-production.ts';
import { settleUnknown } from '../ledger/run-units.ts';
import { type InSession, type SqlDatabase, transacted } from '../session.ts';
import { readDayColumns, readProductionRows, readWatermarks } from './batch-wells.ts';
import { commitBatch, type DailyCommit, nothingCommitted } from './daily-commit.ts';
import type { DailyTables, WithinTables } from './daily-tables.ts';
import { readHeldMonths } from './held-months.ts';
import { readRestatements } from './restatements.ts';
import { readStamps, storedWindows } from './stored-windows.ts';

export interface DailyEngine extends WithinTables {
  readonly commit: (work: (tables: DailyTables) => Promise<DailyCommit>) => Promise<DailyCommit>;
  /** SQL of those of a relation of `target`s that have rows. */
  readonly withRows: (named: string) => string;
  /** The table with the marks of months for a feed. */
  readonly marks: string;
  readonly readCleanDays: InSession<DailyProductionStore['cleanDays']>;
}

export function createDailyProductionStore(database: SqlDatabase, engine: DailyEngine): DailyProductionStore {
  const { withRows, readCleanDays } = engine;
  return {
    ...transacted<Pick<DailyProductionStore, 'uwis' | 'settleUnknown' | 'rows' | 'days'>>(database, {
      uwis: async (session) => {
        const read = 'SELECT uwi FROM watermark UNION SELECT uwi FROM coverage ORDER BY uwi';
        return (await session.rows<{ uwi: string }>(read)).map(({ uwi }) => uwi);
      },
      settleUnknown: (session, unknown) => settleUnknown(session, { kind: 'uwi', withRows }, unknown),
      rows: readProductionRows,
      days: readDayColumns,
    }),
    watermarks: async (uwis) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readWatermarks(session, uwis)),
    cleanDays: async (uwis, days) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readCleanDays(session, uwis, days)),
    heldMonths: async (uwis) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readHeldMonths(session, uwis)),
    commit: async (batch) =>
      batch.windows.length === 0 ? nothingCommitted : engine.commit((tables) => commitBatch(tables, batch)),
    stamps: async (windows) =>
      windows.length === 0 ? [] : database.transact((session) => readStamps(session, windows)),
    compareStored: (windows, use) => database.transact((session) => use(storedWindows(session, windows))),
    restatements: (question, use) => database.transactOnce((session) => use(readRestatements(session, question))),
  };
}
