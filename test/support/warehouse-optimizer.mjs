/**
 * A second process that puts a warehouse in order: `node warehouse-optimizer.mjs PATH`. Tells of each step on standard
 * output. Runs from dist, as the command does.
 */
import process from 'node:process';

/** @type {typeof import('../../src/warehouse/duckdb/duckdb-warehouse.ts')} */
const { createDuckdbWarehouse } = await import(
  new URL('../../dist/src/warehouse/duckdb/duckdb-warehouse.js', import.meta.url).href
);

const [path = ''] = process.argv.slice(2);
const warehouse = createDuckdbWarehouse({ path, now: Date.now });
for (;;) {
  const rows = await warehouse.ledger.order.step();
  if (rows === undefined) break;
  process.stdout.write(`rewrote ${rows}\n`);
}
await warehouse.close();
