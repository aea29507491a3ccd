/** A field for cleanups: its records on the testing server, and a file of targets. */
import type { GivenAssets } from '../../src/testing-server/data/assets.ts';
import { derivedUuid } from '../../src/testing-server/data/rows.ts';
import type { ReceivedDeletion } from '../../src/testing-server/api/received.ts';

export interface CleanupField {
  readonly assets: GivenAssets;
  /** The targets file. */
  readonly csv: string;
  /** The same targets, in the form in which the testing server records deletions. */
  readonly targets: readonly string[];
}

const recordsOfEquipment = 6;

/** Characters that could break a path, a cell of CSV, a shell or a table. */
const letters = [
  '/Å 100%',
  '%2F',
  '"quoted"',
  "'s",
  'a, b',
  '?q=1&r=2#s',
  '..',
  '../..',
  '\\',
  ' +;:@=$',
  '🛢️',
  '油井',
  'e\u0301',
];

function lettersOf(index: number): string {
  return letters[index % letters.length] ?? '';
}

/**
 * Three in five targets are time series, the others micro strings and wellbores, two a well. Every piece of equipment
 * has a record that is not a target, and every tenth well is not a target.
 */
export function cleanupField(targetCount: number): CleanupField {
  const wells = Array.from({ length: Math.round(targetCount / 5) }, (_, index) => `W ${index}${lettersOf(index)}`);
  const timeSeriesCount = targetCount - 2 * wells.length;
  const equipment = Array.from(
    { length: Math.ceil(timeSeriesCount / (recordsOfEquipment - 1)) },
    (_, index) => `EQ ${index}${lettersOf(index)}`,
  );
  const series = equipment
    .flatMap((id) => Array.from({ length: recordsOfEquipment - 1 }, (_, record) => [id, sourceIdOf(record)] as const))
    .slice(0, timeSeriesCount);
  const spared = Array.from({ length: Math.ceil(wells.length / 10) }, (_, index) => `spared ${index}`);
  return {
    assets: {
      equipment: Object.fromEntries(equipment.map((id) => [id, recordsOf()])),
      wells: Object.fromEntries([...wells, ...spared].map((id) => [id, { microStrings: 2, wellbores: 1 }])),
    },
    csv: [
      'kind,well,equipment,source_id',
      ...series.map(([id, sourceId]) => `time-series,,${cell(id)},${cell(sourceId)}`),
      ...wells.flatMap((id) => [`wellbores,${cell(id)},,`, `micro-strings,${cell(id)},,`]),
    ].join('\n'),
    targets: [
      ...series.map(([id, sourceId]) => JSON.stringify(['time-series', id, sourceId])),
      ...wells.flatMap((id) => [JSON.stringify(['micro-string', id, null]), JSON.stringify(['wellbore', id, null])]),
    ].toSorted(),
  };
}

function cell(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Contains all letters too; the same for every piece of equipment. */
function sourceIdOf(record: number): string {
  return `${lettersOf(record)} rate ${record}${lettersOf(record + recordsOfEquipment)}`;
}

function recordsOf() {
  return Array.from({ length: recordsOfEquipment }, (_, record) => timeSeriesRecord(sourceIdOf(record)));
}

/** A record of docs/interface.md section 2.2, with an xid derived from its source id. */
export function timeSeriesRecord(sourceId: string) {
  return {
    xid: derivedUuid(sourceId),
    equipmentXid: derivedUuid('equipment'),
    sourceId,
    measurement: 'OilRate',
    unit: 'Sm3/d',
  };
}

/** The deletions that the server received, each target once, in the form of {@link CleanupField.targets}. */
export function deletedAt(deletions: readonly ReceivedDeletion[]): readonly string[] {
  return deletions.map(({ kind, ownerId, sourceId }) => JSON.stringify([kind, ownerId, sourceId ?? null])).toSorted();
}
