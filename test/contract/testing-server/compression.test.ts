/** Answers with gzip, over a plain request that unpacks nothing by itself. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { dailyUrl, startWithTenDays, type ServedRow } from '../../support/testing-server-requests.ts';

interface Received {
  readonly status: number | undefined;
  readonly encoding: string | undefined;
  readonly length: string | undefined;
  readonly body: Buffer;
}

async function received(url: string, acceptEncoding?: string): Promise<Received> {
  const asked = request(url, acceptEncoding === undefined ? {} : { headers: { 'accept-encoding': acceptEncoding } });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const { statusCode: status, headers } = response;
  const body = await buffer(response);
  return { status, encoding: headers['content-encoding'], length: headers['content-length'], body };
}

const ratesOf = (body: Buffer) => (JSON.parse(body.toString('utf8')) as ServedRow[]).map(({ oilRate }) => oilRate);

test.each([
  ['accepted', 'gzip'],
  ['accepted', 'br;q=1.0, GZIP;q=0.5'],
  ['accepted', '*'],
  ['always', undefined],
  ['always', 'gzip;q=0'],
] as const)('compression %s packs the answer to a request with Accept-Encoding %s', async (compression, header) => {
  await using server = await startWithTenDays({ compression });
  const { encoding, length, body } = await received(dailyUrl(server), header);
  expect({ encoding, length }).toEqual({ encoding: 'gzip', length: String(body.length) });
  expect(ratesOf(gunzipSync(body))).toEqual([1, 2, 3]);
});

test.each([
  ['none', 'gzip'],
  ['accepted', undefined],
  ['accepted', 'br'],
  ['accepted', 'gzip;q=0, *'],
  ['accepted', '*;q=0.0'],
] as const)('compression %s sends it as it is to one with Accept-Encoding %s', async (compression, header) => {
  await using server = await startWithTenDays({ compression });
  const { encoding, body } = await received(dailyUrl(server), header);
  expect(encoding).toBeUndefined();
  expect(ratesOf(body)).toEqual([1, 2, 3]);
});

test('refusals are packed as well, and a truncated body is half of the packed one', async () => {
  await using server = await startWithTenDays({ compression: 'always' });
  const refused = await received(dailyUrl(server, {}, 'nobody'));
  expect([refused.status, refused.encoding]).toEqual([404, 'gzip']);
  expect(JSON.parse(gunzipSync(refused.body).toString('utf8'))).toHaveProperty('error');
  server.state.setOptions({ faults: { truncatedBody: 1 } });
  await expect(received(dailyUrl(server))).rejects.toMatchObject({ code: 'ECONNRESET' });
});
