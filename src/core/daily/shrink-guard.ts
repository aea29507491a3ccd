/** The limit on the rows that leave the warehouse without a person's leave (G4, docs/design.md section 4.1). */

export interface ShrinkGuard {
  /** Share of the rows, 0 to 1. */
  readonly maxShare: number;
  /** Up to this many rows may always be removed. */
  readonly maxRows: number;
  /** The operator lets every row of the request go. */
  readonly allow: boolean;
}

/** Whether `leaving` of `stored` rows are more than both limits allow. */
export function exceeds(stored: number, leaving: number, guard: ShrinkGuard): boolean {
  return !guard.allow && leaving > guard.maxRows && leaving > stored * guard.maxShare;
}
