/** The common part of the tests of the testing server: rows with simple names, and requests over real HTTP. */
import type { RequestCounts } from '../../src/testing-server/api/received.ts';
import type { GivenRecord } from '../../src/testing-server/data/rows.ts';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import {
  startTestingServer,
  type TestingServer,
  type TestingServerSetup,
} from '../../src/testing-server/testing-server.ts';

export const UWI = '15/9-F-1 C';

/** Row n is dated the n-th of January 2024 and has the oil rate n. */
export function januaryRows(count: number, uwi = UWI): GivenRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    uwi,
    date: new Date(Date.UTC(2024, 0, index + 1)).toISOString(),
    oilRate: index + 1,
    gasRate: 0,
    waterRate: 0,
    tubingPressure: 0,
    casingPressure: 0,
  }));
}

/** A server with the rows of ten days, pages of three. */
export function startWithTenDays(setup: TestingServerSetup = {}): Promise<TestingServer> {
  return startTestingServer({ data: givenDaily(januaryRows(10)), defaultLimit: 3, maxLimit: 5, ...setup });
}

export interface ServedRow {
  readonly xid: string;
  readonly date: string;
  readonly oilRate: number;
  readonly [field: string]: unknown;
}

export function dailyUrl(
  server: TestingServer,
  query: Readonly<Record<string, string | number>> = {},
  uwi = UWI,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return `${server.url}/api/production/daily/${encodeURIComponent(uwi)}?${parameters.toString()}`;
}

/** The oil rates of a page, which identify its rows; the status if it is not 200. */
export async function ratesOn(
  server: TestingServer,
  query: Readonly<Record<string, string | number>> = {},
): Promise<number[] | number> {
  const response = await fetch(dailyUrl(server, query));
  if (response.status !== 200) {
    await response.text();
    return response.status;
  }
  return ((await response.json()) as ServedRow[]).map((row) => row.oilRate);
}

/** Number of requests that arrived under /api so far. */
export async function requestsAt(server: TestingServer): Promise<number> {
  return (await json<RequestCounts>(`${server.url}/testing/requests`)).total;
}

export async function json<T>(url: string, init?: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  return (await response.json()) as T;
}

export async function statusOf(url: string, init?: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.text();
  return response.status;
}

export function postPipes(server: TestingServer, body: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${server.url}/api/production/network/pipe`, { method: 'POST', headers, body });
}
