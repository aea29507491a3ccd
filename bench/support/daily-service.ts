/**
 * Daily production out of memory: the service of the benchmarks of the export. Every row is text made at the start, with
 * all fields of docs/interface.md section 2.1, about 855 bytes, and a page is one copy of it: what is measured is the
 * client. Pages begin at 1, bounds are inclusive, rows come by date. Arguments: wells, days, share of silent wells.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { addressOf, answerJson, serve } from './service-process.ts';

const DAY_MS = 86_400_000;
const lastDayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
/** How long ago silent wells had their last day. */
const silentDays = 3_652;
const maxLimit = 1_000;

export interface DailyOrder {
  readonly latencyMs?: number;
  readonly gzip?: boolean;
  /** Whether the last day of the field has come. */
  readonly isMorning?: boolean;
  /** Changes the oil rate of every so-manieth row by a digit. */
  readonly changeEvery?: number;
}

/** First day of the field, as `--from` takes it. */
export function firstDay(days: number): string {
  return new Date(lastDayMs - days * DAY_MS).toISOString().slice(0, 10);
}

export function uwiOf(well: number): string {
  return `NO 15/9-F-${well}`;
}

const fractions = [
  ['gasRate', 1_000, 1],
  ['waterRate', 0, 2],
  ['tubingPressure', 10, 2],
  ['casingPressure', 5, 2],
  ['gaugePressure', 100, 2],
  ['wellheadTemperature', 12, 1],
  ['gaugeTemperature', 90, 2],
  ['linePressure', 8, 2],
  ['gasLiftInjectionRate', 20_000, 1],
  ['espFrequency', 40, 1],
  ['espIntakePressure', 30, 2],
  ['espAmps', 30, 1],
  ['espVolts', 2_000, 1],
  ['espDischargePressure', 120, 2],
  ['espMotorTemperature', 85, 1],
  ['espVibration', 0, 3],
  ['srpStrokesPerMin', 3, 2],
  ['srpIntakePressure', 20, 2],
  ['srpFluidLoad', 2_000, 1],
  ['srpFillage', 60, 1],
  ['waterInjectionRate', 0, 1],
  ['gasInjectionRate', 0, 1],
  ['pcpSpeed', 100, 1],
  ['pcpTorque', 300, 1],
  ['pcpIntakePressure', 20, 2],
  ['pcpDischargePressure', 90, 2],
] as const;
const codes = ['NONE', 'NONE', 'NONE', 'SHUT_IN', 'WORKOVER', 'POWER', 'WEATHER'];

/** Numbers that look random, the same for every start: xorshift32. */
function numbersFrom(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** The oil rate is the first number, with a last decimal that is never 0: `change` turns the one before it. */
function rowText(instantMs: number, next: () => number): string {
  const hex = (): string => next().toString(16).padStart(8, '0');
  const [first, second, third, fourth] = [hex(), hex(), hex(), hex()];
  const xid = `${first}-${second.slice(0, 4)}-4${second.slice(5)}-a${third.slice(1, 4)}-${third.slice(4)}${fourth}`;
  const date = `${new Date(instantMs).toISOString().slice(0, 19)}Z`;
  const oil = `${next() % 900}.${next() % 10}${1 + (next() % 9)}`;
  const rates = fractions.map(([name, from, digits]) => {
    return `"${name}":${(from + (next() % 100_000) / 1_000).toFixed(digits)}`;
  });
  return (
    `{"xid":"${xid}","date":"${date}","oilRate":${oil},${rates.join(',')},"choke":${next() % 101},` +
    `"downtimeHours":${next() % 24},"downtimeCode":"${codes[next() % codes.length]}",` +
    `"isAnnularFlow":${next() % 9 === 0},"isDualFlow":${next() % 9 === 0}}`
  );
}

interface Well {
  readonly firstMs: number;
  readonly bytes: Buffer;
  /** Where each row begins, and behind the last one where the next would. */
  readonly offsets: Float64Array;
}

/** Has one day more than `days`: that of the morning. */
function wellOf(well: number, days: number, isSilent: boolean): Well {
  const firstMs = lastDayMs - (days + (isSilent ? silentDays : 0)) * DAY_MS;
  const next = numbersFrom(7_919 * (well + 1));
  const rows = Array.from({ length: days + 1 }, (_, day) => rowText(firstMs + day * DAY_MS, next));
  const offsets = new Float64Array(rows.length + 1);
  for (const [index, row] of rows.entries()) offsets[index + 1] = (offsets[index] ?? 0) + row.length + 1;
  return { firstMs, bytes: Buffer.from(`${rows.join(',')},`, 'latin1'), offsets };
}

class Field {
  readonly #wells: ReadonlyMap<string, Well>;
  readonly #days: number;
  readonly #silentWells: number;
  #visibleDays: number;
  /** Compressed pages by what was asked, so that compressing is not measured. */
  readonly #compressed = new Map<string, Buffer>();

  constructor(wells: number, days: number, silentShare: number) {
    this.#days = days;
    this.#visibleDays = days;
    this.#silentWells = Math.round(wells * silentShare);
    const each = Array.from({ length: wells }, (_, well) => {
      return [uwiOf(well), wellOf(well, days, well < this.#silentWells)] as const;
    });
    this.#wells = new Map(each);
  }

  change({ isMorning, changeEvery }: DailyOrder): void {
    this.#compressed.clear();
    if (isMorning !== undefined) this.#visibleDays = this.#days + (isMorning ? 1 : 0);
    if (changeEvery === undefined) return;
    for (const { bytes, offsets } of this.#wells.values()) {
      for (let row = 0; row < this.#days; row += changeEvery) {
        const point = bytes.indexOf('.', offsets[row] ?? 0);
        const digit = (bytes[point + 1] ?? 48) - 48;
        bytes[point + 1] = 48 + ((digit + 5) % 10);
      }
    }
  }

  /** The body of a page; undefined for an unknown well, and for a page below the first. */
  page(uwi: string, query: URLSearchParams): Buffer | undefined {
    const well = this.#wells.get(uwi);
    const number = Number(query.get('page') ?? 1);
    if (well === undefined || number < 1) return undefined;
    const isSilent = Number(uwi.slice(uwiOf(0).length - 1)) < this.#silentWells;
    const rows = isSilent ? this.#days : this.#visibleDays;
    const dayOf = (name: string): number => (Date.parse(query.get(name) ?? '') - well.firstMs) / DAY_MS;
    const first = Math.max(0, Math.ceil(dayOf('startDate') || 0));
    const end = Math.min(rows, query.has('endDate') ? Math.floor(dayOf('endDate')) + 1 : rows);
    const limit = Math.min(Number(query.get('limit') ?? 100), maxLimit);
    const from = Math.min(end, first + (number - 1) * limit);
    const to = Math.min(end, from + limit);
    if (from >= to) return Buffer.from('[]');
    const body = well.bytes.subarray(well.offsets[from], (well.offsets[to] ?? 0) - 1);
    return Buffer.concat([Buffer.from('['), body, Buffer.from(']')]);
  }

  compressed(address: string, page: Buffer): Buffer {
    const known = this.#compressed.get(address) ?? gzipSync(page, { level: 1 });
    this.#compressed.set(address, known);
    return known;
  }
}

function main(wells: number, days: number, silentShare: number): void {
  const field = new Field(wells, days, silentShare);
  let [latencyMs, gzip] = [0, false];
  const takesGzip = ({ headers }: IncomingMessage): boolean => /gzip/.test(headers['accept-encoding'] ?? '');
  const server = createServer((request, response) => {
    const { segments, query } = addressOf(request);
    const answer = (): void => {
      const page = field.page(segments[1] ?? '', query);
      if (page === undefined) response.writeHead(404, { 'content-length': 0 }).end();
      else if (!gzip || !takesGzip(request)) answerJson(response, page);
      else answerJson(response, field.compressed(request.url ?? '', page), { 'content-encoding': 'gzip' });
    };
    if (latencyMs > 0) setTimeout(answer, latencyMs);
    else answer();
  });
  serve(server, (order: DailyOrder) => {
    latencyMs = order.latencyMs ?? latencyMs;
    gzip = order.gzip ?? gzip;
    field.change(order);
  });
}

const [wells = '', days = '', silentShare = ''] = process.argv.slice(2);
if (process.send !== undefined) main(Number(wells), Number(days), Number(silentShare));
