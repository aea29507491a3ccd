/** The documents of runs: lists, one run, its wells, log, report and held rows. Checked against src/app when it is compiled. */
import { z } from 'zod';
import { severities } from '../../core/alerts/kinds.ts';
import { action, asOf, instant, measure, runState } from './documents.ts';
import { holdShown, outageShown } from './service.ts';

const counts = z.record(z.string(), z.number());

const fault = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string().exactOptional(),
  action: action.exactOptional(),
});

const runNumbers = {
  queued: z.number(),
  running: z.number(),
  done: z.number(),
  failed: z.number(),
  cancelled: z.number(),
  interrupted: z.number(),
};

const runDocument = z.object({
  runId: z.string(),
  job: z.string(),
  title: z.string().describe('The name of its job in words'),
  covers: z.string().describe('What it covers: its wells, its days, or its file'),
  service: z.string().nullable(),
  warehouse: z.string(),
  state: runState,
  hasExceptions: z.boolean().describe('Done with rejected, quarantined, held, refused or newly unknown ones'),
  targets: z.number().nullable().describe('Distinct targets of its request; null for a job that takes none'),
  units: z.number().nullable(),
  settledUnits: z.number().nullable(),
  failedUnits: z.number(),
  counts,
  requestedBy: z.string().nullable().describe('user@host, the name of a token, or that of a user of the proxy'),
  requestedAt: instant,
  retriedBy: z.string().nullable(),
  retriedAt: instant,
  startedAt: instant,
  finishedAt: instant,
  durationMs: z.number().nullable(),
});

const liveFault = z.string().nullable().describe('Why live figures are missing; null where Redis answers');

export const runListDocument = z.object({
  runs: z.array(runDocument).readonly(),
  cursor: z.string().nullable().describe('Start of the next list; null on the last one'),
  newer: z.string().nullable().describe('Start of the list of newer runs, as `newer`; null on the first one'),
  service: z.string().nullable(),
  warehouse: z.string(),
  numbers: z
    .object({ ...runNumbers, exceptions: z.number() })
    .describe('Runs of each state that the other filters admit; exceptions are some of those that are done'),
  unattendedJobs: z.array(z.string()).readonly().describe('Jobs with unfinished runs and without a worker'),
  liveFault,
  asOf,
});

export const liveRunDocument = runDocument.extend({
  parameters: z.unknown().describe('Those of its job'),
  retries: z.number(),
  chunks: z.number().nullable().describe('Null, like chunksEnded, where Redis does not have them'),
  chunksEnded: z.number().nullable(),
  unitsInReading: z.number(),
  rowsInReading: z.number(),
  reading: z
    .array(z.object({ target: z.string(), rows: z.number(), expectedRows: z.number().nullable() }))
    .readonly()
    .describe('What is being read, those with most rows first: some of it'),
  pace: z
    .object({
      share: z.number().describe('From 0 to 1: what is done, with what is read of the rest'),
      rows: z.number(),
      rowsPerSecond: z.number().nullable(),
      leftMs: z.number().nullable(),
    })
    .nullable()
    .describe('Null for a run that has ended, or has not begun'),
  attempts: z
    .array(
      z.object({
        number: z.number(),
        by: z.string().nullable(),
        state: runState,
        startedAt: instant,
        finishedAt: instant,
        durationMs: z.number().nullable(),
        rows: z.number().nullable().describe('Read in this attempt; null for one that has not ended'),
        rowsPerSecond: z.number().nullable(),
        sentence: z.string().nullable().describe('How it ended'),
      }),
    )
    .readonly()
    .describe('The first one and each retry'),
  isStopping: z.boolean(),
  isUnattended: z.boolean().nullable().describe('Whether no worker has its queue; null where Redis does not answer'),
  hold: holdShown,
  outage: outageShown,
  liveFault,
  asOf,
});

export const unitState = z.enum(['open', 'done', 'held', 'unknown', 'failed', 'cancelled']);

export const runUnitsDocument = z.object({
  units: z
    .array(
      z.object({
        target: z.string().describe('The name of the well, equipment or file'),
        state: unitState,
        days: z.string().nullable().describe('The days that were read of it, in words'),
        from: instant,
        to: instant.describe('Exclusive'),
        rows: z.number().nullable().describe('Read, or null where its job reads none'),
        counts,
        exceptions: z.string().nullable().describe('What of it makes a run done with exceptions'),
        durationMs: z.number().nullable().describe('How long its last read took, where that was measured'),
        reason: z.string().nullable().describe('Why it failed or is held'),
        code: z.string().nullable(),
      }),
    )
    .readonly()
    .describe('What needs a look first: failed, held, unknown, cancelled, open, done'),
  matches: z.number().describe('Of all that the filter admits'),
  offset: z.number(),
  states: z.partialRecord(unitState, z.number()).describe('Number of all units of the run by their state'),
});

export const runLogDocument = z.object({
  lines: z
    .array(
      z.object({
        at: z.string(),
        level: z.string(),
        message: z.string(),
        about: z.record(z.string(), z.string()).describe('Its other fields, by name'),
      }),
    )
    .readonly()
    .describe('The last 200 at most, the oldest first; none where the queue has lost them'),
});

export const reportDocument = z.object({
  runId: z.string(),
  job: z.string(),
  service: z.string().nullable(),
  warehouse: z.string().nullable(),
  version: z.string().nullable(),
  state: z.enum(['done', 'failed', 'cancelled', 'interrupted']),
  units: counts,
  counts,
  balance: z.object({ balanced: z.boolean(), statement: z.string() }),
  failures: z.array(fault.extend({ target: z.string(), state: z.enum(['failed', 'held']) })).readonly(),
  notices: z.array(z.string()).readonly(),
  stopped: fault.nullable(),
  alerts: z
    .array(z.object({ kind: z.string(), severity: z.enum(severities), alerts: z.number() }))
    .readonly()
    .optional()
    .describe('What it opened, found worse or reminds of, and is open: the reason of exit code 3'),
  quarantine: z
    .object({ records: z.number(), oil: z.number(), gas: z.number(), water: z.number(), unread: z.number() })
    .optional()
    .describe(
      'What stood in quarantine of its wells at its end: records, sums of their daily rates, and records without',
    ),
  differences: z
    .object({
      wells: z.number(),
      samples: z
        .array(
          z.object({
            uwi: z.string(),
            day: z.string().nullable(),
            kind: z.enum(['differs', 'replaced', 'missing-here', 'missing-there']),
            field: z
              .string()
              .nullable()
              .describe('Null where a whole record is missing: then its xid, or what is wrong'),
            here: measure,
            there: measure,
          }),
        )
        .readonly()
        .describe('The first forty'),
      backfills: z
        .array(z.object({ uwis: z.array(z.string()).readonly().nullable(), from: z.string(), to: z.string() }))
        .readonly()
        .describe('The exports that would put them right; uwis null: all wells in the warehouse'),
    })
    .optional()
    .describe('Of a verification, where the warehouse and the service differ'),
  sentence: z.string().describe('How it ended'),
  nextSteps: z.array(action).readonly(),
  startedAt: instant,
  finishedAt: instant,
  durationMs: z.number().describe('Of its attempts, without the time between them'),
  exitCode: z
    .number()
    .describe('That of the command line: 0, or 3 where it opened alerts, rows were rejected, or records differ'),
});

export const heldRowsDocument = z.object({
  targets: z.number().describe('Distinct wells or equipment ids'),
  rows: z.number(),
  holds: z.number(),
  parts: z
    .array(
      z.object({
        target: z.string(),
        month: z.string().nullable().describe('YYYY-MM; null, like the days, for definitions'),
        rows: z.number(),
        firstDay: z.string().nullable(),
        lastDay: z.string().nullable(),
        runId: z.string().describe('The run that began the hold'),
        since: instant,
      }),
    )
    .readonly()
    .describe('The first hundred holds'),
});
