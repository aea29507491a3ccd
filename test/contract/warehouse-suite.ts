/** The conformance suite of the warehouse's port: every implementation takes it, with files or a server of its own. */
import { describe } from 'vitest';
import type { OpenWarehouse } from '../support/warehouse-under-test.ts';
import { describeGuards } from './warehouse-guard.ts';
import { describeLedger } from './warehouse-ledger.ts';
import { describeMerge } from './warehouse-merge.ts';
import { describePushes } from './warehouse-pushes.ts';
import { describeQuery } from './warehouse-query.ts';
import { describeReplay } from './warehouse-replay.ts';

export function describeWarehouse(name: string, open: OpenWarehouse): void {
  describe(`the warehouse on ${name}`, () => {
    describeMerge(open);
    describeGuards(open);
    describeLedger(open);
    describePushes(open);
    describeQuery(open);
    describeReplay(open);
  });
}
