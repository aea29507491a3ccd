/** The conformance suite of the warehouse's port, for every implementation, with files or a server of its own. */
import { describe } from 'vitest';
import type { OpenWarehouse } from '../../support/warehouse-under-test.ts';
import { describeCleanup } from './suites/cleanup.ts';
import { describeCoverage } from './suites/coverage.ts';
import { describeDefinitions } from './suites/definitions.ts';
import { describeGuards } from './suites/guard.ts';
import { describeLedger } from './suites/runs.ts';
import { describeMerge } from './suites/merge.ts';
import { describeMovedRecords } from './suites/moved-records.ts';
import { describeOwnership } from './suites/ownership.ts';
import { describeOrder } from './suites/order.ts';
import { describePushes } from './suites/pushes.ts';
import { describeQuery } from './suites/query.ts';
import { describeReplay } from './suites/replay.ts';
import { describeRestatements } from './suites/restatements.ts';
import { describeRetention } from './suites/retention.ts';
import { describeSoundDays } from './suites/sound-days.ts';
import { describeUnverified } from './suites/unverified.ts';

const suites = {
  /** The rows of daily production, and what is known of them. */
  rows: [describeGuards, describeMerge, describeOrder, describeQuery, describeSoundDays, describeUnverified],
  /** The ledger, and what jobs of their own write. */
  ledger: [describeCleanup, describeDefinitions, describeLedger, describeOwnership, describePushes, describeRetention],
} as const;

type Part = keyof typeof suites;

/** What a warehouse stores and answers, and its ledger; by `parts`, so that files of a test can run side by side. */
export function describeWarehouse(
  name: string,
  open: OpenWarehouse,
  parts: readonly Part[] = ['rows', 'ledger'],
): void {
  describe(`the warehouse on ${name}`, () => {
    for (const part of parts) for (const describeSuite of suites[part]) describeSuite(open);
  });
}

/** What reads and corrections add up to over time: properties that take long, beside the others. */
export function describeHistory(name: string, open: OpenWarehouse): void {
  describe(`the warehouse on ${name}, over time`, () => {
    describeCoverage(open);
    describeMovedRecords(open);
    describeReplay(open);
    describeRestatements(open);
  });
}
