/**
 * Composes the client of the Production Data Service: its calls over one connection pool and one token source. A request
 * passes layers (request-layer.ts), each of which wraps the next as a `Send`:
 *
 *   retried      counts attempts and the deadline, and waits between them, at least as long as a Retry-After. An attempt
 *   │            while the service is down for all does not count
 *   reading      value of an accepted answer, or the error of another; then the room of its body is closed
 *   inRoom       the same request again when it is its turn, where its answer had no room
 *   withToken    asks for the token before the lease; once a call a second request, after a 401 and with another token
 *   limited      holds a lease. Its time counts on the deadline; a Retry-After makes all workers wait before it is released
 *   classified   what the answer means, and its name in metrics
 *   exchanged    token of the call, then one exchange over HTTP (http-exchange.ts)
 */
import { Secrets } from '../core/base/secrets.ts';
import type { BodyRoom } from './answer-body.ts';
import { accept, listPaths, paths } from './contract.ts';
import { createDailyProductionReader, type PageFetch } from './daily-production-reader.ts';
import { createExchange, type Exchange, type ServiceRequest } from './http-exchange.ts';
import { probeService } from './build-profile.ts';
import type { ProductionDataService } from './production-data-service.ts';
import {
  type AnswerReader,
  classified,
  exchanged,
  inRoom,
  limited,
  newCall,
  pageReader,
  readDeletion,
  reading,
  readNothing,
  readWell,
  recordsReader,
  type RequestOptions,
  retried,
  type Send,
  type ServiceDependencies,
  withToken,
} from './request-layer.ts';
import { parseBaseUrl, type ServiceSettings } from './settings.ts';
import { ClientCredentialsTokens, createTokenSource } from './token-source.ts';

/** Sends single requests of others (relay.ts), with the limits, the token and the room for bodies of this client. */
export interface Sender {
  readonly send: Send;
  readonly openRoom: () => BodyRoom;
  readonly secrets: Secrets;
}

/**
 * Creates the client. Sends no request and reads no file before the first call. Throws UsageError for an address that
 * is invalid or holds a secret, AccessError for a token that no header can carry.
 */
export function createProductionDataService(
  settings: ServiceSettings,
  dependencies: ServiceDependencies = {},
): ProductionDataService & { readonly sender: Sender } {
  const { now = Date.now, secrets = new Secrets() } = dependencies;
  const exchange = createExchange(parseBaseUrl(settings.baseUrl), settings, secrets);
  const endpoints: Exchange[] = [];
  const tokens = createTokenSource(settings.token, secrets, (credentials) => {
    const endpoint = createTokenExchange(credentials.tokenUrl, settings, secrets);
    endpoints.push(endpoint);
    return new ClientCredentialsTokens(credentials, {
      exchange: endpoint,
      deadlineMs: settings.timeoutMs,
      now,
      secrets,
    });
  });
  const answered = classified(exchanged(exchange, secrets, settings.retry.deadlineMs), now);
  const send = inRoom(withToken(limited(answered, now, dependencies), tokens, now));
  const openRoom = (): BodyRoom => exchange.openRoom();
  const reader = reading(send, dependencies);
  const call: MakeCall = async (request, read, options = {}) =>
    retried(reader(read), settings.retry, dependencies)(request, newCall(options, openRoom()));
  const close = async (): Promise<void> =>
    void (await Promise.all([exchange, ...endpoints].map(async (each) => each.close())));
  const calls = callsOver(call, { baseUrl: exchange.baseUrl, secrets, now, close });
  return { ...calls, sender: { send, openRoom, secrets } };
}

/** Makes one call: sends its request until there is an answer, and reads that. */
export type MakeCall = <T>(request: ServiceRequest, read: AnswerReader<T>, options?: RequestOptions) => Promise<T>;

/** The calls of the service, all for the work of one run or for none. */
export function callsOver(
  callOf: MakeCall,
  shared: Pick<ProductionDataService, 'baseUrl' | 'close'> & { readonly secrets: Secrets; readonly now: () => number },
  work: Pick<RequestOptions, 'runId' | 'log'> = {},
): ProductionDataService {
  const { baseUrl, secrets, now, close } = shared;
  const call: MakeCall = async (request, read, options) => callOf(request, read, { ...options, ...work });

  const fetchPage: PageFetch = async (query, take, options = {}) => {
    const read = pageReader({ limit: query.limit, mostRecords: options.mostRecords }, take);
    const path = `${paths.dailyProduction(query.uwi)}${queryOf(query)}`;
    return call({ ...get('daily-production', path, { well: query.uwi }), keepsArray: true }, read, options);
  };

  const fetchDailyProductionPage: ProductionDataService['fetchDailyProductionPage'] = async (query, options) =>
    fetchPage(query, (page) => page.parsed(), options);
  const pages = { baseUrl, fetchDailyProductionPage };

  return {
    ...pages,
    forRun: (runId, log) => callsOver(callOf, shared, { runId, log }),
    readDailyProduction: createDailyProductionReader(fetchPage, secrets),
    probe: async (request, options) => probeService(pages, request, { ...options, now }),
    fetchRecords: async (list, target, options) =>
      call(get(list.name, listPaths[list.name](target), { [list.targets.kind]: target }), recordsReader(list), options),
    deleteTimeSeries: async (equipment, sourceId, options) =>
      call(
        remove('delete-time-series', paths.timeSeriesRecord(equipment, sourceId), { equipment }),
        readDeletion,
        options,
      ),
    deleteMicroStrings: async (well, options) =>
      call(remove('delete-micro-strings', paths.microStrings(well), { well }), readDeletion, options),
    deleteWellbores: async (well, options) =>
      call(remove('delete-wellbores', paths.wellbores(well), { well }), readDeletion, options),
    fetchWell: async (sourceId, options) =>
      call({ ...get('well', paths.well(sourceId), { well: sourceId }), accept: accept.well }, readWell, options),
    upsertNetworkPipes: async (body, options) =>
      call(
        { method: 'POST', endpoint: 'network-pipes', path: paths.networkPipes(), accept: accept.json, body },
        readNothing,
        options,
      ),
    close,
  };
}

const mostTokenBytes = 1024 * 1024;

/** Sends to exactly the configured address. */
function createTokenExchange(tokenUrl: string, settings: ServiceSettings, secrets: Secrets): Exchange {
  const { origin } = parseBaseUrl(tokenUrl, 'the address of the token endpoint');
  return createExchange(
    { origin, prefix: new URL(tokenUrl).pathname },
    { ...settings, concurrency: 1, maxBodyBytes: Math.min(settings.maxBodyBytes, mostTokenBytes) },
    secrets,
  );
}

type DailyProductionQuery = Parameters<ProductionDataService['fetchDailyProductionPage']>[0];

type About = NonNullable<ServiceRequest['about']>;

function get(endpoint: string, path: string, about: About): ServiceRequest {
  return { method: 'GET', endpoint, path, about, accept: accept.json };
}

function remove(endpoint: string, path: string, about: About): ServiceRequest {
  return { method: 'DELETE', endpoint, path, about, accept: accept.json };
}

/** Query of docs/interface.md section 4.1. All four parameters are optional; undefined ones are omitted. */
function queryOf({ startMs, endMs, page, limit }: DailyProductionQuery): string {
  const values = { startDate: isoOf(startMs), endDate: isoOf(endMs), page: page?.toString(), limit: limit?.toString() };
  const pairs = Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

function isoOf(instantMs: number | undefined): string | undefined {
  return instantMs === undefined ? undefined : new Date(instantMs).toISOString();
}
