/** Pages of daily production by the manner of the service (docs/interface.md section 4.1). */
import type { RecordBody, ServiceManner } from '../evidence.ts';
import type { TruthRow } from './truth.ts';

/**
 * The page of a request; undefined for a query that the service refuses: a number that is none, a page before the first one, a
 * limit below 1, or a bound that is no date-time. Bounds filter by instant; the start is inclusive.
 *
 * A record whose date cannot be read is within every window, behind all others in either order: it is on the last page.
 */
export function pageOf(
  rows: readonly TruthRow[],
  query: URLSearchParams,
  { pageBase, mostRowsPerPage, order, endIsInclusive }: ServiceManner,
): readonly RecordBody[] | undefined {
  const page = wholeNumber(query.get('page') ?? String(pageBase));
  const limit = wholeNumber(query.get('limit') ?? String(mostRowsPerPage));
  const fromMs = instantOf(query.get('startDate'), -Infinity);
  const toMs = instantOf(query.get('endDate'), Infinity);
  if (page === undefined || page < pageBase || limit === undefined || limit < 1) return undefined;
  if (fromMs === undefined || toMs === undefined) return undefined;
  const dated = rows.filter(
    ({ instantMs }) =>
      instantMs !== undefined && instantMs >= fromMs && (instantMs < toMs || (endIsInclusive && instantMs === toMs)),
  );
  const inOrder = order === 'ascending' ? dated : dated.toReversed();
  const undated = rows.filter(({ instantMs }) => instantMs === undefined);
  const size = Math.min(limit, mostRowsPerPage);
  const from = (page - pageBase) * size;
  return [...inOrder, ...undated].slice(from, from + size).map(({ body }) => body);
}

function wholeNumber(text: string): number | undefined {
  return /^-?\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Unix milliseconds of a date-time with an offset, written with or without a colon; `other` for no text. */
function instantOf(text: string | null, other: number): number | undefined {
  if (text === null) return other;
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/.test(text)) return undefined;
  const instantMs = Date.parse(text.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  return Number.isNaN(instantMs) ? undefined : instantMs;
}
