import { paths } from '../../service/contract.ts';
import { RequestError } from './request-error.ts';

export type Endpoint =
  | 'daily-production'
  | 'time-series'
  | 'time-series-record'
  | 'micro-strings'
  | 'wellbores'
  | 'well'
  | 'network-pipes';

export interface ApiCall {
  readonly endpoint: Endpoint;
  /** Path parameters in order, decoded once. */
  readonly parameters: readonly string[];
  readonly query: URLSearchParams;
}

interface Route {
  readonly endpoint: Endpoint;
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** Path segments; undefined for a parameter. */
  readonly segments: readonly (string | undefined)[];
}

/** Placeholder of a parameter in a template: no encoding changes it, and no path contains it. */
const SLOT = '~';

function route(endpoint: Endpoint, method: Route['method'], template: string): Route {
  return { endpoint, method, segments: template.split('/').map((segment) => (segment === SLOT ? undefined : segment)) };
}

const routes: readonly Route[] = [
  route('daily-production', 'GET', paths.dailyProduction(SLOT)),
  route('time-series', 'GET', paths.timeSeries(SLOT)),
  route('time-series-record', 'DELETE', paths.timeSeriesRecord(SLOT, SLOT)),
  route('micro-strings', 'DELETE', paths.microStrings(SLOT)),
  route('wellbores', 'DELETE', paths.wellbores(SLOT)),
  route('well', 'GET', paths.well(SLOT)),
  route('network-pipes', 'POST', paths.networkPipes()),
];

/**
 * Matches a request to one of the seven endpoints (docs/interface.md section 4), by the paths of the contract. Throws
 * RequestError: 404 for an unknown path, 405 for a wrong method, 400 for an encoding that cannot be decoded.
 */
export function apiCallOf(method: string, url: string): ApiCall {
  const [path = '', search = ''] = splitOnce(url, '?');
  const segments = path.split('/');
  const found = routes.find((candidate) => fits(candidate, segments));
  if (found === undefined) throw new RequestError(404, `there is no ${path}`);
  if (found.method !== method) throw new RequestError(405, `${path} takes ${found.method}`, { allow: found.method });
  const parameters = segments.filter((_, position) => found.segments[position] === undefined);
  return { endpoint: found.endpoint, parameters: parameters.map(decoded), query: new URLSearchParams(search) };
}

function fits({ segments: expected }: Route, segments: readonly string[]): boolean {
  return (
    expected.length === segments.length &&
    segments.every(
      (segment, position) => segment === expected[position] || (expected[position] === undefined && segment !== ''),
    )
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new RequestError(400, `the path holds a broken percent-encoding: ${segment}`);
  }
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The path of daily production, for examples of requests. */
export const dailyProductionPath = paths.dailyProduction;
