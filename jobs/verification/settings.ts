/** The job that compares daily production at the service with the warehouse: its description and its parameters. */
import { z } from 'zod';
import type { CountDescription, JobDescription } from '../../src/core/run/job-description.ts';
import { readingUnits } from '../exports.ts';

/** Instants in milliseconds; the wells are the targets of the run. */
export const verificationParamsSchema = z.strictObject({
  nowMs: z.number().int(),
  /** Without bounds the last days are read. */
  fromMs: z.number().int().optional(),
  toMs: z.number().int().optional(),
  /** The whole history of each well. */
  isWhole: z.boolean(),
  /** How many wells were chosen of how many, and by which seed. */
  sample: z.strictObject({ wells: z.number().int(), of: z.number().int(), seed: z.number().int() }).optional(),
});
export type VerificationParams = z.output<typeof verificationParamsSchema>;

/** Days before the request that are read where nothing else is said. */
export const verifiedDays = 90;

/** read = same + differing + missingHere + notYetRead + repeated + outsideWindow + quarantined + accepted (G2). */
const counts: readonly CountDescription[] = [
  { name: 'read', inSum: 'whole', isAlwaysShown: true },
  { name: 'same', inSum: 'part', isAlwaysShown: true },
  { name: 'differing', inSum: 'part', isAlwaysShown: true, isException: true, remark: 'other values, or another xid' },
  {
    name: 'missingHere',
    inSum: 'part',
    isAlwaysShown: true,
    isException: true,
    remark: 'the service has them, the warehouse does not',
  },
  { name: 'notYetRead', inSum: 'part', remark: 'of days behind the last read of their wells: no difference' },
  { name: 'repeated', inSum: 'part' },
  { name: 'outsideWindow', inSum: 'part', remark: 'they came, and are ignored' },
  { name: 'quarantined', inSum: 'part', remark: 'break the contract, and stand in quarantine here' },
  { name: 'accepted', inSum: 'part', remark: 'broke the contract, and were accepted as they are' },
  { name: 'stored', isAlwaysShown: true, remark: 'rows of the warehouse that were compared' },
  {
    name: 'missingThere',
    isAlwaysShown: true,
    isException: true,
    remark: 'the warehouse has them, the service does not',
  },
  { name: 'held', remark: 'missing there, and held until they are back or released' },
  { name: 'standing', remark: 'rows in whose stead the service sends what breaks the contract' },
];

export const verification: JobDescription = {
  name: 'verify daily-production',
  units: readingUnits('well', 'wells'),
  record: 'record',
  counts,
  unreachedBy: ['service-hold', 'service-down', 'no-connection', 'connection-lost', 'timeout'],
  nextSteps: ({ differences }) => (differences?.backfills ?? []).map((backfill) => ({ kind: 'backfill', ...backfill })),
};
