/** The small world of a storm in which all is right: its times, its runs by name, and what the service says of two wells. */
import type { Mutation, RecordBody } from '../../evidence.ts';

export const begunMs = Date.parse('2026-03-10T08:00:00Z');
export const historyMs = Date.parse('2026-01-01T00:00:00Z');
export const service = 'http://127.0.0.1:4000';

/** Milliseconds since 1970 of a second of the storm. */
export function at(second: number): number {
  return begunMs + Math.round(second * 1_000);
}

/** The instant as a dump has it. */
export function instant(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/** The runs of the storm: an export, the one of the quiet time, a push, a cleanup, a verification, an export of wells. */
export const runIds = {
  first: '20260310-080010-a00001',
  calm: '20260310-080210-a00002',
  push: '20260310-080030-a00003',
  cleanup: '20260310-080110-a00004',
  verify: '20260310-080220-a00005',
  wells: '20260310-080040-a00006',
} as const;

/** The xid of a record by its number. */
export function xid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

function body(number: number, day: string, oilRate: number): RecordBody {
  const rates = { oilRate, gasRate: 5.5, waterRate: 0, tubingPressure: 100, casingPressure: 90 };
  return { xid: xid(number), date: `${day}T00:00:00Z`, ...rates, choke: 12, isDualFlow: false };
}

/** As `body`, without a required field and with one that the interface does not name. */
function sparse(number: number, day: string): RecordBody {
  const { waterRate: _, ...rest } = body(number, day, 3);
  return { ...rest, operator: 'crew 4' };
}

const numbered = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const two = (number: number): string => String(number).padStart(2, '0');

/** `W1`: records 1 to 5 of March; then 2 is restated, 3 leaves, 4 comes again as 6, 7 is new. */
export const ofFirst = [
  ...numbered(1, 4).map((number) => body(number, `2026-03-${two(number)}`, 10 + number)),
  sparse(5, '2026-03-05'),
];
export const restated = body(2, '2026-03-02', 20.25);
export const replacing = body(6, '2026-03-04', 14);
export const late = body(7, '2026-03-06', 17);

/** `W2`: records 11 to 20 of February; then 11 to 15 leave, which is too many, and 20 breaks the contract. */
export const ofSecond = numbered(11, 20).map((number) => body(number, `2026-02-${two(number - 10)}`, number));
export const broken = { ...ofSecond[9], oilRate: null };

function mutationsOf(
  uwi: string,
  second: number,
  what: Mutation['what'],
  bodies: readonly RecordBody[],
): readonly Mutation[] {
  const isGone = what === 'removed';
  return bodies.map((each) => ({ atMs: at(second), uwi, xid: String(each['xid']), what, body: isGone ? null : each }));
}

export const mutations: readonly Mutation[] = [
  ...mutationsOf('W1', -5, 'initial', ofFirst),
  ...mutationsOf('W2', -5, 'initial', ofSecond),
  ...mutationsOf('W1', 60, 'restated', [restated]),
  ...mutationsOf('W1', 61, 'removed', ofFirst.slice(2, 4)),
  ...mutationsOf('W1', 61, 'late', [replacing, late]),
  ...mutationsOf('W2', 64, 'removed', ofSecond.slice(0, 5)),
  ...mutationsOf('W2', 65, 'broken', [broken]),
];
