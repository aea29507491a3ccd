/** The jobs that read lists of records, and wells, into the warehouse: what each is called, reads and stores. */
import type { KnownList } from '../../src/core/definitions/record-list.ts';
import { type CountDescription, isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import { unknownFault } from '../../src/core/run/unknown-targets.ts';
import type { Job } from '../../src/runs/job.ts';
import type { RecordsReading, WellReading } from '../../src/warehouse/port/definitions.ts';
import { newlyUnknown, readingUnits, releaseSteps, removedUnapproved, rowsOfTargets } from '../exports.ts';
import { createDefinitionJob, type DefinitionParams, type DefinitionSettings } from './job.ts';

/** read = inserted + updated + unchanged + repeated (G2). */
const counts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'inserted', inSum: 'part', isAlwaysShown: true },
  { name: 'updated', inSum: 'part', isAlwaysShown: true },
  { name: 'unchanged', inSum: 'part', isAlwaysShown: true },
  { name: 'repeated', inSum: 'part' },
  { name: 'removed', isAlwaysShown: true },
  { name: 'heldRows', remark: 'they stay until they are released' },
  removedUnapproved,
  newlyUnknown,
  ...rowsOfTargets,
];

export function describeList({ name, targets: { one, many } }: KnownList): JobDescription {
  return descriptionOf(`export ${name}`, one, many);
}

export const wells = descriptionOf('export wells', 'well', 'wells');

function descriptionOf(name: string, one: string, many: string): JobDescription {
  return {
    name,
    units: readingUnits(one, many),
    record: 'record',
    counts,
    failureOf: (report) => unknownFault(report, { one, many }),
    nextSteps: (report) => [
      ...releaseSteps(report),
      ...(isCounted(report.counts, 'newlyUnknown') ? [{ kind: 'show-unknown-definitions' } as const] : []),
    ],
  };
}

/** Approximate size of a record with five texts. */
const recordBytes = 500;

export function createListJob(list: KnownList, settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<RecordsReading>(
    {
      description: describeList(list),
      reads: list.targets.kind,
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, records: await service.fetchRecords(list, target, { signal }) };
      },
      records: ({ records }) => records.length,
      weigh: ({ records }) => recordBytes * (1 + records.length),
      storeOf: (warehouse) => warehouse.records(list),
    },
    settings,
  );
}

/** The stored body of a well, of any form, that the service does not know is unchanged (G4). */
export function createWellsJob(settings: DefinitionSettings): Job<DefinitionParams> {
  return createDefinitionJob<WellReading>(
    {
      description: wells,
      reads: 'well',
      read: async ({ unit, target }, { service }, signal) => {
        return { unit, target, well: await service.fetchWell(target, { signal }) };
      },
      records: () => 1,
      // The body exists as text, as JSON in the statement, and again in the document.
      weigh: ({ well }) => 6 * well.body.length,
      storeOf: (warehouse) => warehouse.wells,
    },
    settings,
  );
}
