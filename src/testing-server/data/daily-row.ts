/** A daily production row as JSON text, so that every value is sent as given. */
import { type Node, parseTree } from 'jsonc-parser';
import { derivedUuid } from './random.ts';

export interface DailyRow {
  /** The xid, or the JSON of a value of another type in its place. */
  readonly xid: string;
  /** Instant of `date`, milliseconds since 1970-01-01T00:00Z; NaN when the date cannot be read. */
  readonly instantMs: number;
  /** The record as served: `xid` and `date` first, then the other fields in the given order. */
  readonly text: string;
}

export interface WellRow {
  readonly uwi: string;
  readonly row: DailyRow;
}

/**
 * A record made by a test: `uwi` and the fields to serve, valid or not. An absent `xid` is derived from uwi and date.
 */
export interface GivenRecord {
  readonly uwi: string;
  readonly [field: string]: unknown;
}

/**
 * The row of a JSON line with `uwi`; its other values are kept as written. Throws SyntaxError or TypeError with the
 * reason.
 */
export function rowFromText(text: string): WellRow {
  const record: unknown = JSON.parse(text);
  if (!isGivenRecord(record)) throw new TypeError('it is not a JSON object with a text "uwi"');
  const members = objectMembers(text);
  const xid = record['xid'] === undefined ? deriveXid(record.uwi, record['date']) : record['xid'];
  const rest = members.filter(({ name }) => name !== 'uwi' && name !== 'xid' && name !== 'date');
  const date = members.find(({ name }) => name === 'date');
  const served = [{ name: 'xid', raw: JSON.stringify(xid) }, ...(date === undefined ? [] : [date]), ...rest];
  return {
    uwi: record.uwi,
    row: {
      xid: typeof xid === 'string' ? xid : JSON.stringify(xid),
      instantMs: instantOf(record['date']),
      text: `{${served.map(({ name, raw }) => `${JSON.stringify(name)}:${raw}`).join(',')}}`,
    },
  };
}

function isGivenRecord(value: unknown): value is GivenRecord {
  return typeof value === 'object' && value !== null && 'uwi' in value && typeof value.uwi === 'string';
}

/** The derived xid of a well's row at an instant, however its date is written. */
export function deriveXid(uwi: string, date: unknown): string {
  const instantMs = instantOf(date);
  return derivedUuid(`${uwi}\n${Number.isNaN(instantMs) ? String(date) : new Date(instantMs).toISOString()}`);
}

const dateTimePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(?::?\d{2})?)?$/;

/** Milliseconds since 1970 of an ISO date-time; without an offset it is in UTC. NaN for any other value. */
export function instantOf(date: unknown): number {
  const parts = typeof date === 'string' ? dateTimePattern.exec(date) : null;
  if (parts === null) return Number.NaN;
  const [text, , , offset = 'Z'] = parts;
  const time = text.slice(0, text.length - (parts[3]?.length ?? 0));
  return Date.parse(
    `${time}${offset === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(3).replace(':', '') || '00'}`}`,
  );
}

/**
 * The row with its date written at another offset ("+02:00", "+0200", "+02"), for the same instant. A row without a readable date is
 * unchanged.
 */
export function withDateOffset(text: string, instantMs: number, offset: string): string {
  if (Number.isNaN(instantMs)) return text;
  return text.replace(/^(\{"xid":[^,]*,"date":)"[^"]*"/, `$1"${dateAt(instantMs, offset)}"`);
}

function dateAt(instantMs: number, offset: string): string {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''));
  const shiftMs = (offset.startsWith('-') ? -minutes : minutes) * 60_000;
  return new Date(instantMs + shiftMs).toISOString().replace(/(\.000)?Z$/, offset);
}

/**
 * Slices JSON text without parsing its values, so that a number keeps its text (38.211669000000001). Every function
 * takes text that JSON.parse has accepted.
 */
interface JsonMember {
  readonly name: string;
  readonly raw: string;
}

export function arrayItems(text: string): string[] {
  return childrenOf(parseTree(text)).map((item) => slice(text, item));
}

export function objectMembers(text: string): JsonMember[] {
  return childrenOf(parseTree(text)).map((member) => {
    const [name, value] = childrenOf(member);
    return { name: String(name?.value), raw: slice(text, value) };
  });
}

function childrenOf(node: Node | undefined): readonly Node[] {
  return node?.children ?? [];
}

function slice(text: string, node: Node | undefined): string {
  return node === undefined ? '' : text.slice(node.offset, node.offset + node.length);
}
