/** The conformance suite of the warehouse's port: every implementation takes it, with files or a server of its own. */
import { describe } from 'vitest';
import type { OpenWarehouse } from '../support/warehouse-under-test.ts';
import { describeCleanup } from './warehouse-cleanup.ts';
import { describeCoverage } from './warehouse-coverage.ts';
import { describeDefinitions } from './warehouse-definitions.ts';
import { describeGuards } from './warehouse-guard.ts';
import { describeLedger } from './warehouse-ledger.ts';
import { describeMerge } from './warehouse-merge.ts';
import { describePushes } from './warehouse-pushes.ts';
import { describeQuery } from './warehouse-query.ts';
import { describeReplay } from './warehouse-replay.ts';
import { describeRestatements } from './warehouse-restatements.ts';

export function describeWarehouse(name: string, open: OpenWarehouse): void {
  describe(`the warehouse on ${name}`, () => {
    describeMerge(open);
    describeGuards(open);
    describeCoverage(open);
    describeDefinitions(open);
    describeLedger(open);
    describePushes(open);
    describeQuery(open);
    describeReplay(open);
    describeCleanup(open);
    describeRestatements(open);
  });
}
