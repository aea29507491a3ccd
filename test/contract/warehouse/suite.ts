/** The conformance suite of the warehouse's port, for every implementation, with files or a server of its own. */
import { describe } from 'vitest';
import type { OpenWarehouse } from '../../support/warehouse-under-test.ts';
import { describeAlerts } from './suites/alerts.ts';
import { describeAcceptedRecords } from './suites/accepted-records.ts';
import { describeAlertMessages } from './suites/alert-messages.ts';
import { describeQueueState } from './suites/queue-state.ts';
import { describeAlertsOfEndedRuns } from './suites/alerts-of-ended-runs.ts';
import { describeAlertsOfPeople } from './suites/alerts-of-people.ts';
import { describeAlertsOfRuns } from './suites/alerts-of-runs.ts';
import { describeChecks } from './suites/checks.ts';
import { describeCleanup } from './suites/cleanup.ts';
import { describeCoverage } from './suites/coverage.ts';
import { describeWellHistory } from './suites/well-history.ts';
import { describeDefinitions } from './suites/definitions.ts';
import { describeGuards } from './suites/guard.ts';
import { describeHolds } from './suites/holds.ts';
import { describeLedger } from './suites/runs.ts';
import { describeMerge } from './suites/merge.ts';
import { describeMonthHistory } from './suites/month-properties.ts';
import { describeMonths } from './suites/months.ts';
import { describeMovedRecords } from './suites/moved-records.ts';
import { describeOwnership } from './suites/ownership.ts';
import { describeOrder } from './suites/order.ts';
import { describePushes } from './suites/pushes.ts';
import { describeQuery } from './suites/query.ts';
import { describeReadOrder } from './suites/read-order.ts';
import { describeReplay } from './suites/replay.ts';
import { describeRestatements } from './suites/restatements.ts';
import { describeRetention } from './suites/retention.ts';
import { describeSchedules } from './suites/schedules.ts';
import { describeSoundDays } from './suites/sound-days.ts';
import { describeUnverified } from './suites/unverified.ts';
import { describeZones } from './suites/zones.ts';
import { describeVerification } from './suites/verification.ts';

type Suite = (open: OpenWarehouse) => void;

/** By subject. Each makes its warehouses where it stands: outside a block of its own, it would make them for all tests. */
type Suites = Readonly<Record<string, Suite>>;

const suites = {
  /** The rows of daily production, and what is known of them. */
  rows: {
    'the history of a well': describeWellHistory,
    checks: describeChecks,
    guards: describeGuards,
    holds: describeHolds,
    merge: describeMerge,
    months: describeMonths,
    order: describeOrder,
    'read order': describeReadOrder,
    query: describeQuery,
    'sound days': describeSoundDays,
    unverified: describeUnverified,
    zones: describeZones,
    verification: describeVerification,
  },
  /** The ledger, and what jobs of their own write. */
  ledger: {
    alerts: describeAlerts,
    'accepted records': describeAcceptedRecords,
    'alerts of ended runs': describeAlertsOfEndedRuns,
    'alerts of people': describeAlertsOfPeople,
    'messages of alerts': describeAlertMessages,
    'an embedded queue': describeQueueState,
    'alerts of whole runs': describeAlertsOfRuns,
    cleanup: describeCleanup,
    definitions: describeDefinitions,
    runs: describeLedger,
    ownership: describeOwnership,
    pushes: describePushes,
    retention: describeRetention,
    schedules: describeSchedules,
  },
} as const satisfies Readonly<Record<string, Suites>>;

/** Properties over what reads and corrections add up to, which take long. */
const historySuites: Suites = {
  coverage: describeCoverage,
  months: describeMonthHistory,
  'moved records': describeMovedRecords,
  replay: describeReplay,
  restatements: describeRestatements,
};

type Part = keyof typeof suites;

/** What a warehouse stores and answers, and its ledger; by `parts`, so that files of a test can run side by side. */
export function describeWarehouse(
  name: string,
  open: OpenWarehouse,
  parts: readonly Part[] = ['rows', 'ledger'],
): void {
  describe(`the warehouse on ${name}`, () => {
    for (const part of parts) describeEach(suites[part], open);
  });
}

/** What reads and corrections add up to over time. */
export function describeHistory(name: string, open: OpenWarehouse): void {
  describe(`the warehouse on ${name}, over time`, () => {
    describeEach(historySuites, open);
  });
}

function describeEach(of: Suites, open: OpenWarehouse): void {
  for (const [subject, describeSuite] of Object.entries(of)) {
    describe(`of ${subject}`, () => {
      describeSuite(open);
    });
  }
}
