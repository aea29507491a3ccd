/**
 * What may happen to one request. No fault hides rows behind a good answer: a cut answer is no JSON, or its length or its
 * chunks show the cut, and a part is sent with the status 206.
 */
import type { ServerResponse } from 'node:http';
import type { ServiceRequest } from '../evidence.ts';
import type { Random } from './random.ts';

/** What the service answers without a fault; `body` is JSON text. */
export interface PlainAnswer {
  readonly status: number;
  readonly body: string;
}

export interface Exchange {
  readonly response: ServerResponse;
  /** Of a request that was not worked: an answer that is not sent. */
  readonly answer: PlainAnswer;
  readonly random: Random;
  /** Resolves after the delay, or when the faults end. */
  readonly pause: (delayMs: number) => Promise<void>;
}

type Endpoint = ServiceRequest['endpoint'];

interface RequestFault {
  /** Whether the service first does what was asked. */
  readonly isApplied: boolean;
  /** Answers that it can be played on, so that it is noticed; all of them by default. A misfit is answered plainly. */
  readonly fits?: (answer: PlainAnswer, endpoint: Endpoint) => boolean;
  readonly play: (exchange: Exchange) => Promise<void> | void;
}

const hangMs = 4_000;

/** Of a page of a proxy. */
const html = '<!doctype html><html><title>Sign in</title><body>Please sign in</body></html>';

/** A whole answer; `sent` is its body. */
export function sendWhole(
  response: ServerResponse,
  status: number,
  sent: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(sent);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
  response.end(bytes);
}

const isOk = ({ status }: PlainAnswer): boolean => status === 200;
const isList = ({ status, body }: PlainAnswer): boolean => status === 200 && body.startsWith('[');

/** A beginning of the body that is no JSON: a number is not cut, but left out. */
function cut(body: string): Buffer {
  const bytes = Buffer.from(body);
  return /^[[{]/.test(body) ? bytes.subarray(0, Math.max(1, Math.floor(bytes.length / 2))) : Buffer.alloc(0);
}

const refuse =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  ({ response }: Exchange): void =>
    sendWhole(response, status, body, headers);

const failed = refuse(500, '{"message":"an internal fault"}');
const busy = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  refuse(status, '{"message":"busy"}', headers);

function reset({ response }: Exchange): void {
  response.socket?.resetAndDestroy();
}

async function hang(exchange: Exchange): Promise<void> {
  await exchange.pause(hangMs);
  reset(exchange);
}

async function slowAnswer({ response, answer, random, pause }: Exchange): Promise<void> {
  await pause(random.integer(200, 3_000));
  sendWhole(response, answer.status, answer.body);
}

async function slowBody({ response, answer, random, pause }: Exchange): Promise<void> {
  const bytes = Buffer.from(answer.body);
  const half = Math.floor(bytes.length / 2);
  response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.flushHeaders();
  response.write(bytes.subarray(0, half));
  await pause(random.integer(200, 3_000));
  response.end(bytes.subarray(half));
}

/** Sends the head and a part of the body; then the connection ends. */
function cutOff(headers: (length: number) => Readonly<Record<string, string | number>>) {
  return ({ response, answer }: Exchange): void => {
    const part = cut(answer.body);
    const length = Buffer.byteLength(answer.body);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...headers(length) });
    response.flushHeaders();
    response.write(part, () => response.socket?.destroySoon());
  };
}

function sendHalfOfRows({ response, answer, random }: Exchange): void {
  const rows = JSON.parse(answer.body) as readonly unknown[];
  const half = rows.slice(0, Math.floor(rows.length / 2));
  const range = random.chance(0.5) ? { 'content-range': `items 0-${half.length}/${rows.length}` } : {};
  sendWhole(response, 206, JSON.stringify(half), range);
}

export const requestFaults = {
  'reset-before': { isApplied: false, play: reset },
  'reset-after': { isApplied: true, play: reset },
  '500-before': { isApplied: false, play: failed },
  '500-after': { isApplied: true, play: failed },
  '502-html': { isApplied: false, play: refuse(502, '<html>Bad gateway</html>', { 'content-type': 'text/html' }) },
  '503': { isApplied: false, play: busy(503) },
  '503-retry-after': { isApplied: false, play: busy(503, { 'retry-after': '1' }) },
  '429-retry-after': { isApplied: false, play: busy(429, { 'retry-after': '1' }) },
  'slow-answer': { isApplied: true, play: slowAnswer },
  'slow-body': { isApplied: true, play: slowBody },
  'cut-length': { isApplied: true, fits: isOk, play: cutOff((length) => ({ 'content-length': length })) },
  'cut-chunked': { isApplied: true, fits: isOk, play: cutOff(() => ({ 'transfer-encoding': 'chunked' })) },
  'part-206': { isApplied: true, fits: isList, play: sendHalfOfRows },
  // The form of a well's body is not documented: these two would be another body of it.
  'wrong-type': {
    isApplied: true,
    fits: (answer, endpoint) => isOk(answer) && endpoint !== 'well',
    play: ({ response, answer }) => sendWhole(response, 200, answer.body, { 'content-type': 'text/plain' }),
  },
  'half-json': {
    isApplied: true,
    fits: (answer, endpoint) => isOk(answer) && /^[[{]/.test(answer.body) && endpoint !== 'well',
    play: ({ response, answer }) => sendWhole(response, 200, cut(answer.body)),
  },
  'html-200': { isApplied: false, play: refuse(200, html, { 'content-type': 'text/html' }) },
  'hang-before': { isApplied: false, play: hang },
  'hang-after': { isApplied: true, play: hang },
} as const satisfies Readonly<Record<string, RequestFault>>;

export type FaultName = keyof typeof requestFaults;

export const faultNames = Object.keys(requestFaults) as readonly FaultName[];

export function faultOf(name: FaultName): RequestFault {
  return requestFaults[name];
}

/** Draws the faults of requests while a burst is on. */
export class Bursts {
  readonly #random: Random;
  readonly #now: () => number;
  #share = 0;
  #untilMs = 0;
  #names: readonly FaultName[] = faultNames;

  constructor(random: Random, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  /** That share of the requests (0 to 1) meets one of these faults until `untilMs`; an earlier burst ends. */
  begin(share: number, untilMs: number, names: readonly FaultName[]): void {
    [this.#share, this.#untilMs, this.#names] = [share, untilMs, names];
  }

  end(): void {
    this.#untilMs = 0;
  }

  draw(): FaultName | undefined {
    if (this.#now() >= this.#untilMs || !this.#random.chance(this.#share)) return undefined;
    return this.#random.pick(this.#names);
  }
}
