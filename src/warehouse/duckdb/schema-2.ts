/** Schema version 2: the ledger of coverage. */

export const schema2: readonly string[] = [
  `CREATE TABLE coverage (uwi VARCHAR, from_day DATE, to_day DATE)`,
  // What version 1 knew: a watermark never passes a window that is not durable, and the first one begins before any row
  // (G3). The zone of its days is not known here, so the last day is left out.
  `INSERT INTO coverage
     SELECT uwi, first_day, last_day FROM (
       SELECT uwi, min(production_day) AS first_day, any_value(watermark AT TIME ZONE 'UTC')::DATE - 1 AS last_day
       FROM daily_production JOIN watermark USING (uwi) GROUP BY uwi)
     WHERE first_day < last_day ORDER BY uwi`,
  // What a probe found out about a service, by its base address (DESIGN.md section 3).
  `CREATE TABLE service_profile (base_url VARCHAR PRIMARY KEY, profile JSON NOT NULL, saved_at TIMESTAMPTZ NOT NULL)`,
];
