/** Composes the client of the Production Data Service: seven calls over one pool, one token and one layer of retry. */
import { readDeletion, readNothing, readPage, readTimeSeries, readWell } from './answer-readers.ts';
import { ClientCredentialsTokens } from './client-credentials.ts';
import { accept, paths } from './contract.ts';
import { createDailyProductionReader } from './daily-production-reader.ts';
import { createExchange, type Exchange, type ServiceRequest } from './http-exchange.ts';
import { probeService } from './probe.ts';
import type { ProductionDataService } from './production-data-service.ts';
import { createRequestLayer, type RequestOptions, type ServiceParts } from './request-layer.ts';
import { parseBaseUrl, type ServiceSettings } from './settings.ts';
import { createTokenSource } from './token-source.ts';

/**
 * Makes the client; nothing is sent and no file is read until the first call. Throws UsageError for an address that is
 * none or holds a secret, AccessError for a token that no header can carry.
 */
export function createProductionDataService(
  settings: ServiceSettings,
  parts: ServiceParts = {},
): ProductionDataService {
  const exchange = createExchange(parseBaseUrl(settings.baseUrl), settings);
  const endpoints: Exchange[] = [];
  const tokens = createTokenSource(settings.token, (credentials) => {
    const endpoint = createTokenExchange(credentials.tokenUrl, settings);
    endpoints.push(endpoint);
    const { now = Date.now } = parts;
    return new ClientCredentialsTokens(credentials, { exchange: endpoint, deadlineMs: settings.timeoutMs, now });
  });
  const call = createRequestLayer(exchange, tokens, settings.retry, parts);

  const fetchPage = async (query: DailyProductionQuery, options?: RequestOptions) =>
    call(get(`${paths.dailyProduction(query.uwi)}${queryOf(query)}`), readPage, options);

  const { now } = parts;
  const pages = { baseUrl: exchange.baseUrl, fetchDailyProductionPage: fetchPage };

  return {
    ...pages,
    readDailyProduction: createDailyProductionReader(fetchPage),
    probe: async (request, options) =>
      probeService(pages, request, now === undefined ? { ...options } : { ...options, now }),
    fetchTimeSeries: async (equipment, options) => call(get(paths.timeSeries(equipment)), readTimeSeries, options),
    deleteTimeSeries: async (equipment, sourceId, options) =>
      call(remove(paths.timeSeriesRecord(equipment, sourceId)), readDeletion, options),
    deleteMicroStrings: async (well, options) => call(remove(paths.microStrings(well)), readDeletion, options),
    deleteWellbores: async (well, options) => call(remove(paths.wellbores(well)), readDeletion, options),
    fetchWell: async (sourceId, options) =>
      call({ ...get(paths.well(sourceId)), accept: accept.well }, readWell, options),
    upsertNetworkPipes: async (body, options) =>
      call({ method: 'POST', path: paths.networkPipes(), accept: accept.json, body }, readNothing, options),
    close: async () => void (await Promise.all([exchange, ...endpoints].map(async (each) => each.close()))),
  };
}

/** The address is that of the endpoint itself, to the letter. */
function createTokenExchange(tokenUrl: string, settings: ServiceSettings): Exchange {
  const { origin } = parseBaseUrl(tokenUrl, 'the address of the token endpoint');
  return createExchange({ origin, prefix: new URL(tokenUrl).pathname }, { ...settings, concurrency: 1 });
}

type DailyProductionQuery = Parameters<ProductionDataService['fetchDailyProductionPage']>[0];

function get(path: string): ServiceRequest {
  return { method: 'GET', path, accept: accept.json };
}

function remove(path: string): ServiceRequest {
  return { method: 'DELETE', path, accept: accept.json };
}

/** Section 4.1: all four are optional, and one that is undefined is not sent. */
function queryOf({ startMs, endMs, page, limit }: DailyProductionQuery): string {
  const values = { startDate: isoOf(startMs), endDate: isoOf(endMs), page: page?.toString(), limit: limit?.toString() };
  const pairs = Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

function isoOf(instantMs: number | undefined): string | undefined {
  return instantMs === undefined ? undefined : new Date(instantMs).toISOString();
}
