/** Owns a field that can be cleaned up: what the testing server has of it, and the targets that a file names. */
import type { GivenAssets } from '../../src/testing-server/assets.ts';
import type { ReceivedDeletion } from '../../src/testing-server/received.ts';

export interface CleanupField {
  readonly assets: GivenAssets;
  /** The targets file. */
  readonly csv: string;
  /** The same targets, as the testing server tells of what it was asked to delete. */
  readonly targets: readonly string[];
}

const recordsOfEquipment = 6;

/**
 * Of the targets three in five are time series, the others micro strings and wellbores, two a well. Every piece of
 * equipment has a record that is no target, and every tenth well is none.
 */
export function cleanupField(targetCount: number): CleanupField {
  const wells = Array.from({ length: Math.round(targetCount / 5) }, (_, index) => `W ${index}/Å 100%`);
  const timeSeriesCount = targetCount - 2 * wells.length;
  const equipment = Array.from(
    { length: Math.ceil(timeSeriesCount / (recordsOfEquipment - 1)) },
    (_, index) => `EQ ${index}`,
  );
  const series = equipment
    .flatMap((id) => Array.from({ length: recordsOfEquipment - 1 }, (_, record) => [id, `${id}:${record}`] as const))
    .slice(0, timeSeriesCount);
  const spared = Array.from({ length: Math.ceil(wells.length / 10) }, (_, index) => `spared ${index}`);
  return {
    assets: {
      equipment: Object.fromEntries(equipment.map((id) => [id, recordsOf(id)])),
      wells: Object.fromEntries([...wells, ...spared].map((id) => [id, { microStrings: 2, wellbores: 1 }])),
    },
    csv: [
      'kind,well,equipment,source_id',
      ...series.map(([id, sourceId]) => `time-series,,${id},${sourceId}`),
      ...wells.flatMap((id) => [`wellbores,${id},,`, `micro-strings,${id},,`]),
    ].join('\n'),
    targets: [
      ...series.map(([id, sourceId]) => JSON.stringify(['time-series', id, sourceId])),
      ...wells.flatMap((id) => [JSON.stringify(['micro-string', id, null]), JSON.stringify(['wellbore', id, null])]),
    ].toSorted(),
  };
}

function recordsOf(equipment: string) {
  return Array.from({ length: recordsOfEquipment }, (_, record) => timeSeriesRecord(`${equipment}:${record}`));
}

/** As INTERFACE.md section 2.2 has it. */
export function timeSeriesRecord(sourceId: string) {
  const xid = '00000000-0000-4000-8000-000000000001';
  return { xid, equipmentXid: xid, sourceId, measurement: 'OilRate', unit: 'Sm3/d' };
}

/** What the server was asked to delete, each target once, in the form of {@link CleanupField.targets}. */
export function deletedAt(deletions: readonly ReceivedDeletion[]): readonly string[] {
  return deletions.map(({ kind, ownerId, sourceId }) => JSON.stringify([kind, ownerId, sourceId ?? null])).toSorted();
}
