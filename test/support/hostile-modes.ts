/** What a hostile service may answer, and how the read of that well has to end. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Socket } from 'node:net';
import { answer, goodRecord, headOf, type HostileMode } from './hostile-server.ts';

/** `rows` and `quarantined` are stored of the well; or its unit fails with the code. */
export type HostileEnd = { readonly rows: number; readonly quarantined?: number } | { readonly code: string };

export interface HostileCase {
  readonly mode: HostileMode;
  readonly end: HostileEnd;
  /** It takes a whole time-out: for the full suite. */
  readonly isSlow?: true;
}

const fails = (mode: HostileMode, code: string): HostileCase => ({ mode, end: { code } });
const slow = (mode: HostileMode, code: string): HostileCase => ({ mode, end: { code }, isSlow: true });

const replies = (status: number, code: string, body = '[]', headers: Readonly<Record<string, string>> = {}) =>
  fails((socket) => answer(socket, body, status, headers), code);

/** A body with status 200. */
const body = (text: string | Buffer, code: string, headers: Readonly<Record<string, string>> = {}) =>
  fails((socket) => answer(socket, text, 200, headers), code);

/** A page of two good records, and a text between them. */
function record(text: string | Buffer, end: HostileEnd): HostileCase {
  const [first, last] = [goodRecord(0), goodRecord(2)].map((each) => JSON.stringify(each));
  const page = Buffer.concat([Buffer.from(`[${first},`), Buffer.from(text), Buffer.from(`,${last}]`)]);
  return { mode: (socket, index) => answer(socket, index === 0 ? page : '[]'), end };
}

const withFields = (fields: string): string => `${JSON.stringify(goodRecord(1)).slice(0, -1)},${fields}}`;
const kept: HostileEnd = { rows: 3 };
const quarantined: HostileEnd = { rows: 2, quarantined: 1 };
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const fields = (count: number, value: string): string =>
  Array.from({ length: count }, (_, index) => `"f${index}":${value}`).join(',');

const rows = JSON.stringify([goodRecord(0), goodRecord(1)]);
const gzip = { 'content-encoding': 'gzip' };

/** Writes `drop` until the connection is closed. */
function drip(socket: Socket, start: string, drop: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(drop), 100);
  socket.once('close', () => clearInterval(timer));
}

/** Writes chunks as fast as they are taken, without end. */
export function pour(socket: Socket, status: number): void {
  socket.write(headOf(status, { 'transfer-encoding': 'chunked' }));
  const chunk = `8000\r\n${' '.repeat(0x80_00)}\r\n`;
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

const raw =
  (text: string): HostileMode =>
  (socket) =>
    void socket.end(text);

const statuses: Readonly<Record<string, HostileCase>> = {
  s202: replies(202, 'partial'),
  s203: { mode: (socket, page) => answer(socket, page === 0 ? rows : '[]', 203), end: { rows: 2 } },
  s204: { mode: (socket) => void socket.end(headOf(204)), end: { rows: 0 } },
  s205: fails((socket) => void socket.end(headOf(205, { 'content-length': 0 })), 'partial'),
  s206: replies(206, 'partial', rows, { 'content-range': 'bytes 0-500/1000' }),
  s207: replies(207, 'partial'),
  s226: replies(226, 'partial'),
  range: replies(200, 'partial', rows, { 'content-range': 'bytes 0-500/1000' }),
  'to-host': replies(301, 'http-301', '', { location: 'http://127.0.0.1:9/' }),
  'to-file': replies(302, 'http-302', '', { location: 'file:///etc/passwd' }),
  'to-metadata': replies(307, 'http-307', '', { location: 'http://169.254.169.254/' }),
  s304: fails((socket) => void socket.end(headOf(304)), 'http-304'),
  s400: replies(400, 'http-400'),
  s402: replies(402, 'http-402'),
  s408: replies(408, 'http-408'),
  s409: replies(409, 'http-409'),
  s413: replies(413, 'http-413'),
  s422: replies(422, 'http-422'),
  s425: replies(425, 'http-425'),
  s429: replies(429, 'http-429'),
  s451: replies(451, 'http-451'),
  s500: replies(500, 'http-500', '{"error":"boom"}'),
  s502: replies(502, 'http-502', '<html>Bad gateway</html>', { 'content-type': 'text/html' }),
  s504: replies(504, 'http-504'),
  s999: replies(999, 'http-999'),
};

const bodies: Readonly<Record<string, HostileCase>> = {
  html200: body('<!doctype html><title>Sign in</title>', 'not-json', { 'content-type': 'text/html' }),
  htmljson: body('<html>Sign in</html>', 'not-json'),
  empty: body('', 'not-json'),
  null: body('null', 'wrong-shape'),
  object: body('{"rows":[]}', 'wrong-shape'),
  string: body('"[]"', 'wrong-shape'),
  cutjson: body(rows.slice(0, -20), 'not-json'),
  ndjson: body(`${JSON.stringify(goodRecord(0))}\n${JSON.stringify(goodRecord(1))}`, 'not-json'),
  jsonp: body(`cb(${rows})`, 'not-json'),
  comment: body(`/* rows */ ${rows}`, 'not-json'),
  comma: body('[1,]', 'not-json'),
  garbage: body(`${rows} and more`, 'not-json'),
  nan: body('[NaN]', 'not-json'),
  utf16: body(Buffer.from(rows, 'utf16le'), 'not-json'),
  noise: body(Buffer.alloc(50_000, 0xfe), 'not-text'),
  deeptop: body(`{"a":${nested(100_000)}}`, 'wrong-shape'),
  manyempty: body(`[${'{},'.repeat(1_000_000)}{}]`, 'too-many-records'),
  manynumbers: body(`[${'1,'.repeat(1_000_000)}1]`, 'too-many-records'),
  deepcut: body('['.repeat(3_000_000), 'not-json'),
  quotecut: body(`[${'"\\'.repeat(500_000)}`, 'not-json'),
  largecomma: body(`[${`${rows.slice(1, -1)},`.repeat(5_000)}]`, 'not-json'),
  bom: { mode: (socket, page) => answer(socket, page === 0 ? `\uFEFF${rows}` : '[]'), end: { rows: 2 } },
  gzip: { mode: (socket, page) => answer(socket, gzipSync(page === 0 ? rows : '[]'), 200, gzip), end: { rows: 2 } },
  gzipcut: body(gzipSync(rows).subarray(0, -9), 'truncated', gzip),
  gzipshort: body(gzipSync(rows).subarray(0, 40), 'truncated', gzip),
  gziplie: body(rows, 'encoding', gzip),
  brcut: body(brotliCompressSync(rows).subarray(0, 30), 'truncated', { 'content-encoding': 'br' }),
  zstd: body(rows, 'encoding', { 'content-encoding': 'zstd' }),
  gzipbomb: body(gzipSync(Buffer.alloc(64_000_000, ' ')), 'body-too-large', gzip),
  endless: fails((socket) => pour(socket, 200), 'body-too-large'),
  endless500: fails((socket) => pour(socket, 500), 'http-500'),
};

const connections: Readonly<Record<string, HostileCase>> = {
  reset: fails((socket) => void socket.resetAndDestroy(), 'connection-lost'),
  closed: fails((socket) => void socket.end(), 'connection-lost'),
  cut: fails((socket) => void socket.end(`${headOf(200, { 'content-length': 5_000 })}[`), 'truncated'),
  chunkcut: fails((socket) => void socket.end(`${headOf(200, { 'transfer-encoding': 'chunked' })}5\r\n[`), 'truncated'),
  nohttp: fails(raw('SSH-2.0-OpenSSH_9.6\r\n'), 'not-http'),
  http2: fails(raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), 'not-http'),
  badchunk: fails(raw(`${headOf(200, { 'transfer-encoding': 'chunked' })}ZZZ\r\n`), 'not-http'),
  badstatus: fails(raw('HTTP/1.1 two OK\r\n\r\n'), 'not-http'),
  badlength: fails(raw(`${headOf(200, { 'content-length': -1 })}[]`), 'not-http'),
  badheader: fails(raw('HTTP/1.1 200 OK\r\nx\u0000y: 1\r\n\r\n[]'), 'not-http'),
  hdrflood: fails(raw(`HTTP/1.1 200 OK\r\n${'x-fill: 0123456789\r\n'.repeat(5_000)}`), 'not-http'),
  upgrade: fails(raw('HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'), 'connection-lost'),
  slow: slow((socket) => drip(socket, `${headOf(200, { 'content-length': 9_999 })}[`, ' '), 'timeout'),
  hints: slow((socket) => drip(socket, '', 'HTTP/1.1 103 Early\r\n\r\n'), 'timeout'),
  never: slow(() => undefined, 'timeout'),
  headonly: slow((socket) => void socket.write(headOf(200, { 'content-length': 10 })), 'timeout'),
  hdrslow: slow((socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ', 'x'), 'timeout'),
};

const records: Readonly<Record<string, HostileCase>> = {
  deepfield: record(withFields(`"f":${nested(100_000)}`), quarantined),
  deep5k: record(withFields(`"f":${nested(5_000)}`), quarantined),
  deepobj: record(withFields(`"f":${objects(50_000)}`), quarantined),
  deeparr: record(nested(100_000), quarantined),
  deepmeasure: record(withFields(`"choke":${nested(100_000)}`), quarantined),
  deepxid: record(withFields(`"xid":${nested(100_000)}`), quarantined),
  deeprec: record(objects(50_000), quarantined),
  fields1k: record(withFields(fields(1_000, '1.1234567890123456789')), kept),
  fields10k: record(withFields(fields(10_000, '1.1234567890123456789')), quarantined),
  fields10kw: record(withFields(fields(10_000, '"some text"')), quarantined),
  fields300k: record(withFields(fields(300_000, '1')), quarantined),
  deepmillions: record(nested(900_000), quarantined),
  deepmillion: record(withFields(`"f":${nested(1_000_000)}`), quarantined),
  longtext: record(withFields(`"downtimeCode":"${'x'.repeat(3_000_000)}"`), quarantined),
  longextra: record(withFields(`"note":"${'x'.repeat(100_000)}"`), quarantined),
  longnumbers: record(withFields(`"note":[${'1,'.repeat(1_000_000)}1]`), quarantined),
  badutf8: record(Buffer.from(withFields('"downtimeCode":"d\xe9"'), 'latin1'), quarantined),
  badname: record(Buffer.from(withFields('"n\xe9":1'), 'latin1'), quarantined),
  surr: record(withFields('"downtimeCode":"\\ud800"'), quarantined),
  surrextra: record(withFields('"note":["\\udc00"]'), quarantined),
  nul: record(withFields('"downtimeCode":"a\\u0000b","note":"c\\u0000d"'), quarantined),
  escape: record(withFields('"\\u001b[2J":"\\u009b1m"'), kept),
  minuszero: record(withFields('"note":-0,"choke":-0'), kept),
  huge: record(withFields('"oilRate":1e999'), quarantined),
  digits: record(withFields(`"oilRate":${'9'.repeat(400)}`), quarantined),
  digitsextra: record(withFields(`"note":${'9'.repeat(20_000)}`), kept),
  proto: record(withFields('"__proto__":{"oilRate":7},"constructor":1,"toString":null'), kept),
  twice: record(withFields('"oilRate":7,"oilRate":8'), kept),
  samexid: record(JSON.stringify(goodRecord(0)), { rows: 2 }),
  otheruwi: record(withFields('"uwi":"another"'), kept),
  year99999: record(withFields('"date":"99999-01-01T00:00:00Z"'), quarantined),
  year0: record(withFields('"date":"0000-01-01T00:00:00Z"'), quarantined),
  nodate: record(withFields('"date":null'), quarantined),
  noxid: record(withFields('"xid":""'), quarantined),
  nullrate: record(withFields('"gasRate":null'), quarantined),
  text: record('"row"', quarantined),
};

export const hostileCases: Readonly<Record<string, HostileCase>> = {
  ...statuses,
  ...bodies,
  ...connections,
  ...records,
};
