/** What documents of several subjects are made of, and those of errors. */
import { z } from 'zod';

export const measure = z.union([z.string(), z.number(), z.boolean(), z.null()]);

export const instant = z.string().nullable().describe('ISO 8601, UTC');

export const action = z
  .object({ kind: z.string() })
  .meta({ additionalProperties: true })
  .describe('What to do next, as data: its kind, and what that needs');

export const runState = z.enum(['queued', 'running', 'done', 'failed', 'cancelled', 'interrupted']);

/** When the warehouse was read. */
export const asOf = z
  .string()
  .describe('When the ledger was read, ISO 8601: beside a worker it may be some seconds old');

const problemDocument = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    detail: z.string(),
    code: z.string(),
    hint: z.string().exactOptional(),
    issues: z.array(z.string()).readonly().exactOptional(),
    action: action.exactOptional(),
  })
  .describe('RFC 9457, as application/problem+json');

/** The answers of a route that are errors. */
export function problems<Status extends number>(
  ...statuses: readonly Status[]
): Readonly<Record<Status, typeof problemDocument>> {
  const documents = statuses.map((status) => [status, problemDocument]);
  return Object.fromEntries(documents) as Readonly<Record<Status, typeof problemDocument>>;
}
