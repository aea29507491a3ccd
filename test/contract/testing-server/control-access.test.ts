/** Who may inspect and change the testing server: programs of this machine, with the token where there is one. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';

/** fetch lets nobody set Host and Origin. */
function statusOf(url: string, method: string, headers: Readonly<Record<string, string>>, body = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      text(response).then(() => resolve(response.statusCode ?? 0), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('the paths under /testing', () => {
  test.each([
    [{ host: 'evil.example.com' }],
    [{ host: '127.0.0.1.evil.example.com' }],
    [{ origin: 'https://evil.example.com' }],
    [{ origin: 'null' }],
  ])('answer 403 to a request with %j', async (headers) => {
    await using server = await startTestingServer();
    for (const [method, path] of [
      ['GET', 'state'],
      ['POST', 'reset'],
    ] as const) {
      expect(await statusOf(`${server.url}/testing/${path}`, method, headers)).toBe(403);
    }
  });

  test.each(['localhost', '127.0.0.1', '[::1]'])('answer at %s', async (name) => {
    await using server = await startTestingServer();
    const host = `${name}:${server.port}`;
    expect(await statusOf(`${server.url}/testing/state`, 'GET', { host, origin: `http://${host}` })).toBe(200);
  });

  test('take a change only with the token, where there is one', async () => {
    await using server = await startTestingServer({ requiredToken: 'open' });
    const reset = `${server.url}/testing/reset`;
    expect(await statusOf(`${server.url}/testing/state`, 'GET', {})).toBe(200);
    expect(await statusOf(reset, 'POST', {})).toBe(401);
    expect(await statusOf(reset, 'POST', { authorization: 'Bearer open' })).toBe(200);
  });

  test('take a body of at most 16 MiB', async () => {
    await using server = await startTestingServer();
    const body = ' '.repeat(16 * 1024 * 1024 + 1);
    expect(await statusOf(`${server.url}/testing/daily`, 'POST', {}, body)).toBe(413);
  });
});
