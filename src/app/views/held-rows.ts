/** Held rows as a document: for `--json` and the API. */
import type { HeldRows } from '../../core/run/held-rows.ts';

export function heldDocument({ targets, rows, holds, parts }: HeldRows) {
  return {
    targets,
    rows,
    holds,
    parts: parts.map(({ sinceMs, ...part }) => ({ ...part, since: new Date(sinceMs).toISOString() })),
  };
}
