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
  const said = `${textAt(fields.type)} AS type, ${textAt(fields.status)} AS status, ${textAt(fields.lift)} AS lift`;
  const isOther = ['type', 'status', 'lift'].map((name) => `h.${name} IS DISTINCT FROM w.${name}`).join(' OR ');
  // A record changes for other reasons too: what it says is known since the last version that said something else.
  const rows = await session.rows<WellTexts & { readonly uwi: string }>(
    `SELECT uwi, min(type) AS type, min(status) AS status, min(lift) AS lift, min(zone) AS "timeZone",
       max(${numberOfDay(`CAST(known_at AT TIME ZONE 'UTC' AS DATE)`)}) AS "fromDay"
     FROM (
       SELECT w.uwi, w.type, w.status, w.lift, w.zone,
         coalesce(max(CASE WHEN ${isOther} THEN h.noticed_at END), min(h.known_from), w.changed_at) AS known_at
       FROM (SELECT source_id, ${uwi} AS uwi, ${said}, ${textAt(fields.timeZone)} AS zone, changed_at
           FROM well WHERE document IS NOT NULL) w
         LEFT JOIN (SELECT source_id, ${said}, known_from, noticed_at FROM well_history) h ON h.source_id = w.source_id
       WHERE w.uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})
       GROUP BY w.source_id, w.uwi, w.type, w.status, w.lift, w.zone, w.changed_at) known
     GROUP BY uwi`,
    [jsonText(uwis)],
  );
  return new Map(rows.map(({ uwi: name, ...texts }) => [name, factsOf(texts)]));
}
