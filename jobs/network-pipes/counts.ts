/** The counts of a push and of its dry run, with the sum of each (G2), and the description of the job. */
import { type CountDescription, type JobDescription, rejectedOf } from '../../src/core/run/job-description.ts';

const superseded: CountDescription = {
  name: 'superseded',
  inSum: 'part',
  remark: 'not sent: a later row of the same pipe and date went instead',
};

const pipes: CountDescription = { name: 'pipes', remark: 'accepted; each date of a pipe counts' };

const pipesWithSeveralDates: CountDescription = {
  name: 'pipesWithSeveralDates',
  remark: 'each date is sent: a version of the pipe',
};

/** rows = accepted + superseded + rejectedByUs + rejectedByService + failed (G2). */
const counts: readonly CountDescription[] = [
  { name: 'rows', inSum: 'whole', isAlwaysShown: true },
  { name: 'accepted', inSum: 'part', isAlwaysShown: true },
  superseded,
  { name: 'rejectedByUs', inSum: 'part', isException: true, isReject: true },
  { name: 'rejectedByService', inSum: 'part', isException: true, isReject: true },
  { name: 'failed', inSum: 'part', isException: true, isReject: true },
  pipes,
  pipesWithSeveralDates,
];

export const networkPipes: JobDescription = {
  name: 'push network-pipes',
  units: { one: 'file', many: 'files', isSingle: true, failing: 'could not be sent to the end', held: 'held' },
  record: 'row',
  counts,
  nextSteps: ({ runId, counts: found }) => (rejectedOf({ counts }, found) > 0 ? [{ kind: 'get-rejects', runId }] : []),
};

/** Counts of a dry run, which sends nothing: rows = sendable + superseded + rejectedByUs (G2). */
export const dryRunCounts: readonly CountDescription[] = [
  { name: 'rows', inSum: 'whole', isAlwaysShown: true },
  { name: 'sendable', inSum: 'part', isAlwaysShown: true },
  superseded,
  { name: 'rejectedByUs', inSum: 'part', isReject: true },
  { ...pipes, remark: 'to send; each date of a pipe counts' },
  pipesWithSeveralDates,
];
