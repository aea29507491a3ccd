/** Targets by a part of their names, by the rule of the search. */
import { hasPart } from '../../../core/base/match.ts';
import { type JsonText, jsonText, type SqlSession, type SqlValue } from '../session.ts';

/** The distinct targets of some rows that have the part, as a JSON list. `rows`: what stands behind FROM. */
export async function targetsLike(
  session: SqlSession,
  rows: readonly string[],
  part: string,
  values: readonly SqlValue[] = [],
): Promise<JsonText> {
  const distinct = rows.map((from) => `SELECT DISTINCT target FROM ${from}`).join(' UNION ');
  const found = await session.rows<{ target: string }>(distinct, values);
  return jsonText(found.map(({ target }) => target).filter(hasPart(part)));
}
