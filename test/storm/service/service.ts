/**
 * The Production Data Service of a storm: it holds the truth, answers by a drawn manner, plays faults while they are on, and logs
 * every request. What a request asks is done some time after it has arrived as a whole, at once; an answer is of that moment.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { DefinitionChange, Mutation, ServiceLog, ServiceManner } from '../evidence.ts';
import { changeDefinition, drawnAssets } from './assets.ts';
import { type Asked, askedOf, work, type World } from './endpoints.ts';
import { listen, stopListening } from './listener.ts';
import { drawnManner } from './manner.ts';
import { Pauses } from './pauses.ts';
import { PipeStore } from './pipe-store.ts';
import { createRandom, type Random } from './random.ts';
import { Bursts, faultNames, type FaultName, faultOf, type PlainAnswer, sendWhole } from './request-faults.ts';
import { type OpenRequest, RequestLog } from './request-log.ts';
import { Tokens } from './tokens.ts';
import { type MutationKind, Truth } from './truth.ts';

export type OutageKind = 'refused' | 'unavailable';

export interface StormService extends AsyncDisposable {
  readonly url: string;
  readonly manner: ServiceManner;
  readonly truth: Truth;
  /** A copy of the log as it stands; it is complete when no request is in flight. */
  log(): ServiceLog;
  /** As {@link Truth.mutate}. */
  mutate(kind?: MutationKind, uwi?: string): readonly Mutation[];
  /** Changes a drawn time series or well, or removes or adds a time series. */
  changeDefinition(): void;
  /** That share of the requests (0 to 1) meets a fault until `untilMs` (Unix); `names` are the faults that are drawn. */
  burst(share: number, untilMs: number, names?: readonly FaultName[]): void;
  /**
   * Until `untilMs` connections are refused, and open ones are cut; or all requests are answered 503. Drawn if not given; an
   * outage that is on is ended first. Resolves with the kind when it has begun.
   */
  outage(untilMs: number, kind?: OutageKind): Promise<OutageKind>;
  /** The next request is answered 429 or 503 with a Retry-After of so many seconds; others are answered as ever. */
  hold(seconds: number): void;
  /** Issues a token; the older ones are answered 401 after `graceMs`, drawn from 0 to 2 s if not given. */
  newToken(graceMs?: number): string;
  /** In the order of their issue. The first one is issued at the start. */
  tokens(): readonly string[];
  /** Ends every fault: slow answers come at once, requests that hang are reset, and the service listens. */
  calm(): Promise<void>;
  /** Resolves when no request is in flight. */
  waitIdle(): Promise<void>;
}

/**
 * Starts it on a port of 127.0.0.1, a free one by default. The seed decides truth, manner and faults. A request waits up to
 * `latencyMs` before it is worked.
 */
export async function startStormService({
  seed,
  port = 0,
  latencyMs = 0,
}: {
  readonly seed: number;
  readonly port?: number;
  readonly latencyMs?: number;
}): Promise<StormService> {
  const service = new Service(createRandom(seed).fork('service'), latencyMs);
  await service.open(port);
  return service;
}

class Service implements StormService {
  readonly #random: Random;
  readonly #latency: Random;
  readonly #latencyMs: number;
  readonly #world: World;
  readonly #tokens: Tokens;
  readonly #bursts: Bursts;
  readonly #definitions: Random;
  readonly #definitionChanges: DefinitionChange[] = [];
  readonly #requests = new RequestLog(Date.now);
  readonly #pauses = new Pauses();
  readonly #holds: { readonly fromMs: number; readonly untilMs: number }[] = [];
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  #port = 0;
  #worked = 0;
  #holdSeconds: number | undefined;
  /** Until when all requests are answered 503. */
  #unavailableUntilMs = 0;
  /** Set while connections are refused. */
  #reopening: NodeJS.Timeout | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(random: Random, latencyMs: number) {
    this.#latency = random.fork('latency');
    this.#latencyMs = latencyMs;
    const manner = drawnManner(random.fork('manner'));
    this.#world = {
      manner,
      truth: new Truth(random.fork('truth'), Date.now),
      assets: drawnAssets(random.fork('assets')),
      pipes: new PipeStore(manner, random.fork('pipes')),
    };
    this.#tokens = new Tokens(random.fork('tokens'), Date.now);
    this.#tokens.issue(0);
    this.#bursts = new Bursts(random.fork('bursts'), Date.now);
    this.#definitions = random.fork('definitions');
    this.#random = random.fork('answers');
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get manner(): ServiceManner {
    return this.#world.manner;
  }

  get truth(): Truth {
    return this.#world.truth;
  }

  async open(port: number): Promise<void> {
    this.#port = await listen(this.#server, port);
  }

  log(): ServiceLog {
    const { manner, truth, assets, pipes } = this.#world;
    return {
      manner,
      requests: this.#requests.requests,
      mutations: [...truth.mutations],
      definitionChanges: [...this.#definitionChanges],
      mostAtOnce: this.#requests.busiest.inFlight,
      mostAtMs: this.#requests.busiest.atMs,
      holds: [...this.#holds],
      pipes: pipes.pipes,
      timeSeries: Object.fromEntries(assets.timeSeries),
      microStrings: Object.fromEntries(assets.microStrings),
      wellbores: Object.fromEntries(assets.wellbores),
      wells: Object.fromEntries(assets.wells),
    };
  }

  mutate(kind?: MutationKind, uwi?: string): readonly Mutation[] {
    return this.truth.mutate(kind, uwi);
  }

  changeDefinition(): void {
    const change = changeDefinition(this.#world.assets, this.#definitions);
    if (change !== undefined) this.#definitionChanges.push({ atMs: Date.now(), ...change });
  }

  burst(share: number, untilMs: number, names: readonly FaultName[] = faultNames): void {
    this.#bursts.begin(share, untilMs, names);
  }

  async outage(untilMs: number, kind = this.#random.pick<OutageKind>(['refused', 'unavailable'])): Promise<OutageKind> {
    return this.#inTurn(async () => {
      await this.#endOutage();
      if (kind === 'unavailable') this.#unavailableUntilMs = untilMs;
      else {
        await stopListening(this.#server);
        this.#reopening = setTimeout(() => void this.#inTurn(() => this.#endOutage()), untilMs - Date.now());
      }
      return kind;
    });
  }

  async #endOutage(): Promise<void> {
    this.#unavailableUntilMs = 0;
    if (this.#reopening === undefined) return;
    clearTimeout(this.#reopening);
    this.#reopening = undefined;
    await this.open(this.#port);
  }

  /** One begin or end of an outage at a time. */
  async #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  hold(seconds: number): void {
    this.#holdSeconds = seconds;
  }

  newToken(graceMs: number = this.#random.integer(0, 2_000)): string {
    return this.#tokens.issue(graceMs);
  }

  tokens(): readonly string[] {
    return this.#tokens.all();
  }

  async calm(): Promise<void> {
    this.#bursts.end();
    this.#holdSeconds = undefined;
    this.#pauses.release();
    await this.#inTurn(() => this.#endOutage());
  }

  async waitIdle(): Promise<void> {
    await this.#requests.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#reopening);
    this.#reopening = undefined;
    this.#pauses.release();
    await stopListening(this.#server);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests.enter(response);
    // A connection may end at any moment, in a write too.
    response.on('error', () => undefined);
    try {
      const asked = askedOf(request.method ?? '', request.url ?? '', await text(request));
      if (asked === undefined) sendWhole(response, 404, '{"message":"no such path"}');
      else await this.#respond(asked, request, response);
    } catch {
      // It ended before the request was there as a whole: nothing was asked.
      response.destroy();
    }
  }

  async #respond(asked: Asked, { headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { number, isGood } = this.#tokens.read(headers.authorization);
    const { endpoint, target, sourceId } = asked;
    const query = asked.query.size === 0 ? {} : { query: Object.fromEntries(asked.query) };
    const more = sourceId === undefined ? {} : { sourceId };
    const entry = this.#requests.add({ endpoint, target, ...more, ...query, token: number }, response);
    if (Date.now() < this.#unavailableUntilMs) {
      entry.fault = 'outage';
      sendWhole(response, 503, '{"message":"down for a while"}');
    } else if (!isGood) sendWhole(response, 401, '{"message":"the token is not valid"}');
    else if (this.#holdSeconds === undefined) await this.#answer(asked, entry, response);
    else this.#sendHold(this.#holdSeconds, entry, response);
  }

  #sendHold(seconds: number, entry: OpenRequest, response: ServerResponse): void {
    this.#holdSeconds = undefined;
    entry.fault = 'hold';
    response.once('finish', () => {
      const fromMs = Date.now();
      this.#holds.push({ fromMs, untilMs: fromMs + seconds * 1_000 });
    });
    sendWhole(response, this.#random.pick([429, 503]), '{"message":"wait"}', { 'retry-after': String(seconds) });
  }

  async #answer(asked: Asked, entry: OpenRequest, response: ServerResponse): Promise<void> {
    if (this.#latencyMs > 0) await delay(this.#latency.integer(0, this.#latencyMs));
    const name = this.#bursts.draw();
    const fault = name === undefined ? undefined : faultOf(name);
    const answer = fault?.isApplied === false ? notWorked(asked, entry) : this.#work(asked, entry);
    if (name === undefined || fault === undefined || fault.fits?.(answer, asked.endpoint) === false) {
      sendWhole(response, answer.status, answer.body);
      return;
    }
    entry.fault = name;
    await fault.play({ response, answer, random: this.#random, pause: (delayMs) => this.#pauses.wait(delayMs) });
  }

  #work(asked: Asked, entry: OpenRequest): PlainAnswer {
    const { answer, ...done } = work(asked, this.#world);
    this.#worked += 1;
    Object.assign(entry, done, { worked: this.#worked });
    return answer;
  }
}

/** No body is sent of it. A change is logged as one that was not applied. */
function notWorked({ endpoint }: Asked, entry: OpenRequest): PlainAnswer {
  if (endpoint === 'pipes' || endpoint.startsWith('delete-')) entry.isApplied = false;
  return { status: 0, body: '' };
}
