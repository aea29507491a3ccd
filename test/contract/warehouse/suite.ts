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

/** What a warehouse stores and answers, and its ledger. */
export function describeWarehouse(name: string, open: OpenWarehouse): void {
  describe(`the warehouse on ${name}`, () => {
    describeCleanup(open);
    describeDefinitions(open);
    describeGuards(open);
    describeLedger(open);
    describeMerge(open);
    describeOwnership(open);
    describeOrder(open);
    describePushes(open);
    describeQuery(open);
    describeRetention(open);
    describeSoundDays(open);
    describeUnverified(open);
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
