/** What the stored records of wells say of them, for the checks. */
import type { WellFacts } from '../../../core/checks/checked-well.ts';
import { factsOf, type WellTexts } from '../../../core/checks/well-facts.ts';
import type { FactFields } from '../../port/checks.ts';
import { jsonText, numberOfDay, type SqlSession } from '../session.ts';

/** By uwi; a well whose record is not known is absent. Without a field that is named it costs no statement. */
export async function readFacts(
  session: SqlSession,
  fields: FactFields | undefined,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, WellFacts>> {
  if (fields === undefined || uwis.length === 0) return new Map();
  const { dialect } = session;
  const textAt = (path: string | undefined): string =>
    path === undefined ? 'CAST(NULL AS VARCHAR)' : dialect.textAt('document', path.split('.'));
  const uwi = fields.uwi === undefined ? 'source_id' : `coalesce(${textAt(fields.uwi)}, source_id)`;
  const rows = await session.rows<WellTexts & { readonly uwi: string }>(
    `SELECT uwi, min(type) AS type, min(status) AS status, min(lift) AS lift, min(zone) AS "timeZone",
       max(${numberOfDay(`CAST(changed_at AT TIME ZONE 'UTC' AS DATE)`)}) AS "fromDay"
     FROM (SELECT ${uwi} AS uwi, ${textAt(fields.type)} AS type, ${textAt(fields.status)} AS status,
         ${textAt(fields.lift)} AS lift, ${textAt(fields.timeZone)} AS zone, changed_at
       FROM well WHERE document IS NOT NULL) w
     WHERE uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')}) GROUP BY uwi`,
    [jsonText(uwis)],
  );
  return new Map(rows.map(({ uwi: name, ...texts }) => [name, factsOf(texts)]));
}
