/** The documents of what the warehouse holds: coverage, months, restatements, production and a well. Checked against src/app when it is compiled. */
import { z } from 'zod';
import { rateBases } from '../../core/daily/rate-basis.ts';
import { asOf, instant, measure, runState } from './documents.ts';

const dayCounts = {
  asked: z.number().describe('The sum of the four others'),
  present: z.number(),
  quarantined: z.number(),
  missing: z.number(),
  neverRead: z.number(),
};

export const coverageShown = z.object({
  timeZone: z.string(),
  from: z.string().nullable().describe('Null: the first known day of each well'),
  to: z.string(),
  wells: z.number(),
  emptyWells: z.number(),
  wellsWithHoles: z.number(),
  days: z.object({ ...dayCounts, missingAfterLast: z.number() }),
  months: z.array(z.object({ month: z.string(), ...dayCounts })).readonly(),
  asOf,
});

const volumes = {
  oil: z.number().nullable(),
  gas: z.number().nullable(),
  water: z.number().nullable(),
};

export const monthsDocument = z.object({
  rateBasis: z.enum(rateBases).describe('What a rate means for a volume'),
  units: z.record(z.string(), z.string()).describe('By column of monthly_production; unknown where nobody said it'),
  knownAt: instant.describe('The time of asKnown; null without since'),
  months: z
    .array(
      z.object({
        uwi: z.string(),
        month: z.string().describe('Its first day'),
        daysPresent: z.number(),
        daysMissing: z.number(),
        daysQuarantined: z.number(),
        hoursOn: z.number().nullable().describe('Null, like volumes, where no day has a row'),
        ...volumes,
        waterInjected: z.number().nullable(),
        gasInjected: z.number().nullable(),
        downtimeHours: z.number().nullable(),
        downtimeByCode: z
          .record(z.string(), z.number())
          .nullable()
          .describe('Hours by code; the empty code for hours without one'),
        asKnown: z.object(volumes).exactOptional().describe('At knownAt, by the basis of now'),
      }),
    )
    .readonly(),
  cursor: z.string().nullable(),
  asOf,
});

export const restatementsDocument = z.object({
  restatements: z
    .array(
      z.object({
        day: z.string(),
        uwi: z.string(),
        change: z.enum(['updated', 'replaced', 'removed']),
        field: z.string().nullable().describe('Null where the whole row was removed'),
        old: measure,
        new: measure,
        runId: z.string(),
        noticedAt: z.string(),
      }),
    )
    .readonly(),
  cursor: z.string().nullable(),
  asOf,
});

export const productionDocument = z.object({
  uwi: z.string(),
  rows: z
    .array(
      z.object({
        xid: z.string(),
        date: z.string(),
        day: z.string().nullable().describe('The production day in the zone of the well'),
        measures: z.record(z.string(), measure).describe('By column of daily_production'),
        extras: z.string().nullable().describe('JSON of the fields that the contract does not name'),
        counts: z.boolean().describe('False for a record of a day for which another one counts'),
      }),
    )
    .readonly(),
  cursor: z.string().nullable(),
  asOf,
});

const dayRange = z.object({ from: z.string(), to: z.string().describe('The first day behind them') });

export const wellShown = z.object({
  uwi: z.string(),
  firstDay: z.string().nullable().describe('Null, like lastDay, for a well without a row'),
  lastDay: z.string().nullable(),
  readUpTo: instant,
  readTo: z.string().nullable().describe('The last day that a read has covered'),
  unknownSince: instant.describe('Since when the service does not know it'),
  standings: z
    .array(
      z.object({
        kind: z.string(),
        severity: z.enum(['error', 'warning', 'info']),
        sentence: z.string(),
        days: dayRange.nullable().describe('Those that a backfill would read'),
        runId: z.string().nullable().describe('The run that the sentence is about'),
      }),
    )
    .readonly()
    .describe('What is to be known of the well, why there is no data of yesterday first; at least one'),
  days: z.object({ ...dayCounts, undecided: z.number().describe('Asked, and not verified yet; not of asked') }),
  stretches: z
    .array(dayRange.extend({ state: z.string() }))
    .readonly()
    .describe('All days from the first one to today, which is not over, by state'),
  gaps: z
    .array(dayRange.extend({ lastDay: z.string(), days: z.number(), neverRead: z.number(), isOpen: z.boolean() }))
    .readonly()
    .describe('Days without a row, the latest first; to is the first day behind a gap, and an open one lasts to today'),
  quarantined: z
    .array(
      z.object({
        day: z.string().nullable(),
        xid: z.string().nullable(),
        reason: z.string(),
        raw: z.string().describe('The record as it came, or its beginning'),
        runId: z.string(),
        noticedAt: instant,
        accepted: z
          .object({ by: z.string(), at: z.string(), because: z.string() })
          .nullable()
          .describe('Who accepted it as it is; null where nobody did'),
      }),
    )
    .readonly()
    .describe('The first hundred records, the latest days first'),
  quarantinedRecords: z.number(),
  acceptedRecords: z.number().describe('Those of quarantinedRecords that a person accepted as they are'),
  holds: z
    .array(z.object({ rows: z.number(), firstDay: z.string(), lastDay: z.string(), runId: z.string(), since: instant }))
    .readonly(),
  reads: z
    .array(
      z.object({
        runId: z.string(),
        job: z.string(),
        runState,
        state: z.enum(['open', 'done', 'held', 'failed', 'unknown']),
        changed: z.number().describe('Rows that were inserted, updated and removed'),
        days: dayRange.nullable(),
        at: instant,
        fault: z.string().nullable(),
      }),
    )
    .readonly()
    .describe('The runs that read it, the latest first, at most twenty'),
  restated: z
    .array(
      z.object({
        day: z.string(),
        column: z.string().nullable().describe('Null where the whole row was removed'),
        before: z.number().nullable(),
        after: z.number().nullable(),
        noticedAt: z.string(),
        runId: z.string(),
      }),
    )
    .readonly()
    .describe('Of the columns of the plot, the latest first'),
  asOf,
});
