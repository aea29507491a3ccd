/** The field of the month as a service: its rows grow by a day each night, and what goes wrong comes from faults.ts. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { type Answer, type Fault, faults, first, firstNightMs, nights, renamed } from './faults.ts';

const historyDays = 120;

const dayOf = (night: number): string => new Date(firstNightMs + night * DAY_MS).toISOString().slice(0, 10);

/** Day 0 is that of the first night; those before are negative. */
function xidOf(well: number, day: number): string {
  return `00000000-0000-4000-8000-${String(well * 10_000 + day + 5_000).padStart(12, '0')}`;
}

function row(uwi: string, well: number, day: number, more: object = {}): string {
  const rates = { oilRate: 100 + well, gasRate: 10, waterRate: 5 };
  return JSON.stringify({ uwi, xid: xidOf(well, day), date: `${dayOf(day)}T00:00:00Z`, ...rates, ...more });
}

/** Names with their numbers: the renamed well has the rows of the last one. */
const names: ReadonlyArray<readonly [uwi: string, well: number]> = [
  ...first.map((uwi, index) => [uwi, index + 1] as const),
  [renamed, 13],
];

/** Days in which one well sends nothing, which come at once afterwards. */
const silence = { uwi: 'W05', from: 7, until: 20 };
const restated = { uwis: ['W06', 'W08'], night: 16, from: '2026-12-01', to: '2027-02-01' };
const gone = { uwi: 'W07', night: 18, days: 7 };
const brokenUntil = { uwi: 'W02', night: 6, until: 9 };
const brokenForGood = { uwi: 'W03', night: 10 };

export interface MonthService extends AsyncDisposable {
  readonly url: string;
  /** The state of that night: what has come since the night before, and how wells answer. */
  setNight(night: number): Promise<void>;
  /** Nothing listens there any more, or again. */
  setAway(isAway: boolean): Promise<void>;
}

export async function startMonthService(port: number): Promise<MonthService> {
  const history = names.flatMap(([uwi, well]) =>
    Array.from({ length: historyDays }, (_, index) => row(uwi, well, index - historyDays)),
  );
  const data = givenDaily(history.map((text) => JSON.parse(text) as Record<string, unknown> & { uwi: string }));
  const server = await startTestingServer({ data });
  let night = 0;
  let front: Server | undefined;

  function answerOf(uwi: string): Answer | undefined {
    const isNow = ({ from, until = nights + 1, wells }: Fault): boolean =>
      from <= night && night < until && wells.includes(uwi);
    return faults.find(isNow)?.answer;
  }

  async function respond(url: string, init: RequestInit, response: ServerResponse): Promise<void> {
    const uwi = decodeURIComponent(/\/production\/daily\/([^?]+)/.exec(url)?.[1] ?? '');
    const answer = answerOf(uwi);
    if (answer === 'not-found') response.writeHead(404).end('{"message":"no such well"}');
    else if (answer === 'failed') response.writeHead(500).end('{"message":"a fault"}');
    else if (answer === 'sign-in page') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
    } else {
      const real = await fetch(server.url + url, init);
      response.writeHead(real.status, { 'content-type': real.headers.get('content-type') ?? 'application/json' });
      response.end(Buffer.from(await real.arrayBuffer()));
    }
  }

  async function open(): Promise<void> {
    front = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { url = '', method = 'GET', headers } = request;
        const body = method === 'GET' ? {} : { body: Buffer.concat(parts) };
        const type = headers['content-type'];
        const init = { method, ...body, ...(type === undefined ? {} : { headers: { 'content-type': type } }) };
        respond(url, init, response).catch(() => response.destroy());
      });
    }).listen(port, '127.0.0.1');
    await new Promise((resolve) => front?.once('listening', resolve));
  }

  async function close(): Promise<void> {
    front?.closeAllConnections();
    await new Promise((resolve) => front?.close(resolve) ?? resolve(undefined));
    front = undefined;
  }

  await open();
  return {
    url: `http://127.0.0.1:${port}`,
    setNight: async (next) => {
      night = next;
      server.state.changeDaily(changesOf(night).join('\n'));
    },
    setAway: async (isAway) => (isAway ? close() : open()),
    [Symbol.asyncDispose]: async () => {
      await close();
      await server.close();
    },
  };
}

/** The day before the night, and what else has changed. */
function changesOf(night: number): readonly string[] {
  const day = night - 1;
  const plain = names.flatMap(([uwi, well]) =>
    uwi === silence.uwi && day >= silence.from && night < silence.until ? [] : [row(uwi, well, day)],
  );
  const changes = [...plain];
  const numberOf = (uwi: string): number => names.find(([name]) => name === uwi)?.[1] ?? 0;
  if (night === silence.until) {
    for (let late = silence.from; late < day; late += 1) changes.push(row(silence.uwi, numberOf(silence.uwi), late));
  }
  if (night === restated.night) {
    for (const uwi of restated.uwis) {
      const from = Math.round((Date.parse(restated.from) - Date.parse(dayOf(0))) / DAY_MS);
      const to = Math.round((Date.parse(restated.to) - Date.parse(dayOf(0))) / DAY_MS);
      for (let old = from; old < to; old += 1) changes.push(row(uwi, numberOf(uwi), old, { oilRate: 77 }));
    }
  }
  if (night === gone.night) {
    for (let lost = day - gone.days; lost < day; lost += 1) {
      changes.push(JSON.stringify({ uwi: gone.uwi, remove: xidOf(numberOf(gone.uwi), lost) }));
    }
  }
  if (night === brokenUntil.night)
    changes.push(row(brokenUntil.uwi, numberOf(brokenUntil.uwi), day, { oilRate: null }));
  if (night === brokenUntil.until) {
    changes.push(row(brokenUntil.uwi, numberOf(brokenUntil.uwi), brokenUntil.night - 1));
  }
  if (night === brokenForGood.night) {
    changes.push(row(brokenForGood.uwi, numberOf(brokenForGood.uwi), day, { gasRate: 'much' }));
  }
  return changes;
}
