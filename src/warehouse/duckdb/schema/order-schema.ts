/**
 * A part of schema version 6: the key of the last well that the rewriting of daily production has looked at; null if
 * none is under way.
 */
export const orderSchema: readonly string[] = [`ALTER TABLE warehouse ADD COLUMN order_place INTEGER`];
