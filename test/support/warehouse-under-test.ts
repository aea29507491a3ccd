/** The warehouses of a conformance suite: any number of empty ones. */
import { afterEach, beforeEach } from 'vitest';
import type { ServiceIdentity } from '../../src/core/base/service-key.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';

export interface WarehouseUnderTest {
  readonly warehouse: WarehouseHandle;
  /** Another handle on the same data, as a second worker has it; with `service`, one for that service. */
  another(service?: ServiceIdentity): WarehouseHandle;
  /** Closes all handles, and changes the data as another program does. Returns a new handle. */
  changed(statement: string): Promise<WarehouseHandle>;
  /** Closes all handles and removes the data. */
  dispose(): Promise<void>;
}

/** Creates an empty warehouse. */
export type OpenWarehouse = () => Promise<WarehouseUnderTest>;

/** An empty warehouse for each test of the calling block; the returned function gives that of the current test. */
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
