/** The schemas of the documents that the API answers with: what src/app/views makes, checked when it is compiled. */
import { z } from 'zod';
import { alertStates, severities } from '../../core/alerts/kinds.ts';
import { rateBases } from '../../core/daily/rate-basis.ts';
import { roles } from '../../core/run/role.ts';
import { targetKinds } from '../../core/cleanup/target.ts';

const measure = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const instant = z.string().nullable().describe('ISO 8601, UTC');
const counts = z.record(z.string(), z.number());

const action = z
  .object({ kind: z.string() })
  .meta({ additionalProperties: true })
  .describe('What to do next, as data: its kind, and what that needs');

const fault = z.object({
  code: z.string(),
  message: z.string(),
  hint: z.string().exactOptional(),
  action: action.exactOptional(),
});

export const holdShown = z
  .object({ until: instant, askedUntil: instant, isTooLong: z.boolean() })
  .nullable()
  .describe('Until when the service asked all to wait');

export const outageShown = z
  .object({
    since: instant,
    fault: z.string(),
    isDue: z.boolean().describe('Its pause is over: the next request asks it, and it may be up'),
  })
  .nullable()
  .describe('Since when the service is down, and all requests wait');

export const runState = z.enum(['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted']);

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

/** When the warehouse was read. */
const asOf = z.string().describe('When the ledger was read, ISO 8601: beside a worker it may be some seconds old');
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

const alertShown = z.object({
  id: z.string(),
  kind: z.string(),
  state: z.enum(alertStates),
  severity: z.enum(severities),
  job: z.string().nullable(),
  target: z.object({ kind: z.string(), id: z.string() }),
  cause: z.string().describe('The same for alerts of one reason'),
  summary: z.string(),
  detail: z.record(z.string(), z.unknown()),
  action: action.nullable(),
  openedAt: instant,
  openedBy: z.string().describe('A run, or who else saw it first'),
  seenAt: instant,
  acknowledgedBy: z.string().nullable(),
  acknowledgedAt: instant,
  acknowledgedBecause: z.string().nullable(),
  until: instant.describe('Until when it is acknowledged; null for good'),
  resolvedAt: instant,
  resolvedBy: z.string().nullable().describe('A run, or a person'),
  resolvedBecause: z.string().nullable(),
});

export const alertsShown = z.object({ alerts: z.array(alertShown).readonly() });

export const alertListDocument = alertsShown.extend({
  next: z.string().nullable().describe('Cursor of the next page; null on the last one'),
  asOf,
});

export const alertHistoryShown = alertShown.extend({
  changes: z
    .array(
      z.object({
        change: z.enum(['opened', 'reopened', 'worsened', 'reminded', 'acknowledged', 'resolved']),
        at: instant,
        by: z.string(),
        because: z.string().nullable(),
        severity: z.enum(severities),
        size: z.number().describe('Rows, days or records'),
      }),
    )
    .readonly(),
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

const planCounts = z.object({
  targets: z.number(),
  timeSeries: z.number(),
  microStrings: z.number(),
  wellbores: z.number(),
  equipment: z.number(),
  wells: z.number(),
  repeated: z.number(),
  unknown: z.number(),
  unreadable: z.number(),
  producing: z.number(),
  unread: z.number().exactOptional(),
  unmapped: z.number().exactOptional(),
  knownWells: z.number(),
});

const plannedTarget = z.object({
  ordinal: z.number(),
  kind: z.enum(targetKinds),
  ownerId: z.string(),
  sourceId: z.string().nullable(),
  text: z.string().describe('What it is, in words'),
  producedOn: z.string().nullable(),
  doubt: z.string().nullable(),
  sighting: z.enum(['present', 'absent', 'unreadable']),
});

export const planShown = z.object({
  planId: z.string().nullable().describe('Null for a plan that is not kept'),
  digest: z.string(),
  serviceUrl: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  selection: z.string().nullable(),
  selectionSha256: z.string().nullable(),
  includesProducing: z.boolean(),
  state: z.enum(['planned', 'claimed', 'applied', 'dry run']),
  counts: planCounts,
  caps: z
    .object({ maxTargets: z.number(), maxShareOfWellsPercent: z.number() })
    .nullable()
    .describe('The caps that it was made within; null for a plan of an earlier version'),
  consequences: z.array(z.string()).readonly().describe('What its deletions do that nothing can undo, show or list'),
  applied: z.object({ runId: z.string(), by: z.string(), at: z.string() }).nullable(),
  remarks: z.array(z.string()).readonly().describe('What deserves a look, in words'),
  warnings: z.array(plannedTarget).readonly().describe('The first targets that deserve a look'),
});

export const shownPlan = planShown.extend({
  targets: z.array(plannedTarget).readonly().describe('The first hundred, in the order of their deletion'),
  refusal: z.string().nullable().describe('Why it cannot be applied: a run has it, or it is too old; null if it can'),
});

export const planListDocument = z.object({
  plans: z.array(planShown).readonly(),
  cursor: z.string().nullable(),
  asOf,
});

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
      }),
    )
    .readonly()
    .describe('The first hundred records, the latest days first'),
  quarantinedRecords: z.number(),
  holds: z
    .array(z.object({ rows: z.number(), firstDay: z.string(), lastDay: z.string(), runId: z.string(), since: instant }))
    .readonly(),
  reads: z
    .array(
      z.object({
        runId: z.string(),
        job: z.string(),
        runState,
        state: z.enum(['open', 'done', 'held', 'failed', 'cancelled', 'unknown']),
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

export const scheduleShown = z.object({
  name: z.string(),
  cron: z.string(),
  cronWords: z.string().describe('The cron in words'),
  timeZone: z.string(),
  job: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  catchUp: z.enum(['latest', 'none']),
  role: z.enum(roles).describe('Who may trigger and resume it: `delete` where its runs delete'),
  paused: z.object({ at: instant, by: z.string() }).nullable(),
  next: instant.describe('The next tick, which a paused schedule will skip'),
  upcoming: z.array(z.string()).readonly().describe('The next three ticks'),
  lastTick: z
    .object({
      due: instant,
      outcome: z.enum(['starting', 'started', 'skipped', 'missed', 'failed']),
      because: z.string().nullable(),
    })
    .nullable(),
  runs: z
    .array(
      z.object({
        runId: z.string(),
        state: runState,
        requestedAt: z.string(),
        byHand: z.string().nullable().describe('Who began it; null where a tick did'),
      }),
    )
    .readonly()
    .describe('The newest of those that are kept, the latest first'),
});

export const scheduleListDocument = z.object({
  revision: z.number().nullable().describe('Of the warehouse; null before the first application'),
  configuredRevision: z.number().nullable().describe('Of the configuration; null where it says nothing of schedules'),
  schedules: z.array(scheduleShown).readonly(),
  roleToApply: z
    .enum(roles)
    .describe('Who may apply those of the configuration: `delete` where one deletes and is new or changed'),
  asOf,
});

const problemDocument = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    detail: z.string(),
    code: z.string(),
    hint: z.string().exactOptional(),
    issues: z.array(z.string()).readonly().exactOptional(),
    action: action.exactOptional(),
  })
  .describe('RFC 9457, as application/problem+json');

/** The answers of a route that are errors. */
export function problems<Status extends number>(
  ...statuses: readonly Status[]
): Readonly<Record<Status, typeof problemDocument>> {
  const documents = statuses.map((status) => [status, problemDocument]);
  return Object.fromEntries(documents) as Readonly<Record<Status, typeof problemDocument>>;
}
