/**
 * Turns of writers. Where several transactions write at a time, some rules rest on one of them looking and writing before
 * the next one looks, and no row stands for the rule: two runs that ask for the same work, or the end of the audit. Each
 * such subject has a row of `writer_turn`, which its transactions lock first. In an engine with one writer at a time every
 * transaction is a turn.
 */
import { lockRows, type SqlSession } from './session.ts';

/** A transaction that needs several takes them in this order, so that none waits for another in a circle. */
type TurnSubject = 'request' | 'retention' | 'push' | 'audit' | 'definitions' | 'feed';

/**
 * Waits until no other transaction has the turn, and keeps it until the end of this one. Statements after it see what the
 * others wrote.
 */
export async function takeTurn(session: SqlSession, subject: TurnSubject): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM writer_turn WHERE subject = $1', [subject]);
}
