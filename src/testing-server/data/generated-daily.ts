/** A generated field as a source: a well is generated at its first request, and cached while there is room. */
import type { DailySource } from './daily-source.ts';
import { instantOf } from './daily-row.ts';
import { generateField, type GeneratedFieldOptions } from './generated-field.ts';
import { WellRows } from './well-rows.ts';

/** Room for 200 wells of 5 years; the wells of a larger field are generated again when needed. */
const MAX_KEPT_BYTES = 192 * 1024 * 1024;

/** Throws ZodError for wrong options. */
export function generatedDaily(options: GeneratedFieldOptions = {}): DailySource {
  const field = generateField(options);
  const wells = new Map(field.wells.map((well) => [well.uwi, well]));
  const kept = createKept(MAX_KEPT_BYTES);
  const generate = (uwi: string): WellRows => {
    const well = wells.get(uwi);
    const rows = well === undefined ? [] : field.rows(well);
    return new WellRows(
      rows.map((row) => ({ xid: row.xid, instantMs: instantOf(row.date), text: JSON.stringify(row) })),
    );
  };
  return {
    uwis: [...wells.keys()],
    rowCount(uwi) {
      const well = wells.get(uwi);
      return well === undefined ? 0 : field.rowCount(well);
    },
    rows: (uwi) => kept(uwi, generate),
  };
}

/** A least-recently-used cache, bounded in bytes. */
function createKept(maxBytes: number): (key: string, make: (key: string) => WellRows) => WellRows {
  const entries = new Map<string, WellRows>();
  let bytes = 0;
  return (key, make) => {
    const known = entries.get(key);
    const rows = known ?? make(key);
    entries.delete(key);
    entries.set(key, rows);
    if (known === undefined) bytes += rows.byteLength;
    for (const [oldest, { byteLength }] of entries) {
      if (bytes <= maxBytes || oldest === key) break;
      entries.delete(oldest);
      bytes -= byteLength;
    }
    return rows;
  };
}
