/** Secrets that came out (G10): found by the storm, or in what the warehouse, the receiver of alerts and the API have. */
import type { Evidence, Violation } from '../evidence.ts';
import { violated } from './tables.ts';

/** Every token of a storm begins so. */
const tokenLead = 'storm-token-';

export function checkSecrets({ leaks, tables, alerts, feed, calls }: Evidence): readonly Violation[] {
  const isLeak = (value: unknown): boolean => JSON.stringify(value ?? null).includes(tokenLead);
  const cells = Object.entries(tables).flatMap(([table, rows]) =>
    rows.flatMap((row) =>
      Object.entries(row).flatMap(([column, value]) => {
        return isLeak(value) ? [violated('G10', `a token stands in ${table}.${column}`, { table, column })] : [];
      }),
    ),
  );
  return [
    ...leaks.map(({ where }) => violated('G10', `a secret was found in ${where}`, { where })),
    ...cells,
    ...alerts.flatMap(({ id, atMs, body }) =>
      isLeak(body) ? [violated('G10', `alert ${id} has a token`, { atMs })] : [],
    ),
    ...feed.flatMap(({ atMs, faults }) => (isLeak(faults) ? [violated('G10', 'the feed has a token', { atMs })] : [])),
    ...calls.flatMap(({ atMs, words, document }) => {
      return isLeak(document) ? [violated('G10', `the answer to ${words.join(' ')} has a token`, { atMs })] : [];
    }),
  ];
}
