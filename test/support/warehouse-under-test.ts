/** Owns what a conformance suite needs of an implementation: empty warehouses, as many as it likes. */
import { afterEach, beforeEach } from 'vitest';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

export interface WarehouseUnderTest {
  readonly warehouse: Warehouse;
  /** Another one on the same data, as a second worker has it. */
  another(): Warehouse;
  /** Closes all of them and removes the data. */
  dispose(): Promise<void>;
}

/** Makes an empty warehouse. */
export type OpenWarehouse = () => Promise<WarehouseUnderTest>;

/** An empty warehouse for each test of the block that calls this; the function returned gives the one of the test in hand. */
export function freshWarehouse(open: OpenWarehouse): () => WarehouseUnderTest {
  let current: WarehouseUnderTest | undefined;
  beforeEach(async () => {
    current = await open();
  });
  afterEach(async () => {
    await current?.dispose();
    current = undefined;
  });
  return () => {
    if (current === undefined) throw new Error('there is a warehouse only while a test runs');
    return current;
  };
}
