/** A read through the process that works the warehouse ends as one of this process would, and shows none of its secrets. */
import { afterEach, describe, expect, it } from 'vitest';
import { faultOf, TransientError } from '../../../src/core/base/errors.ts';
import { Secrets } from '../../../src/core/base/secrets.ts';
import { createProductionDataService } from '../../../src/service/create-service.ts';
import type { ProductionDataService } from '../../../src/service/production-data-service.ts';
import { answeringRelayed, type AskWorker, createRelayedService } from '../../../src/service/relay.ts';
import { type Reply, startScriptedServer } from '../../support/scripted-server.ts';

const secret = 'eyes-only-0123456789';
const retry = { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 2, deadlineMs: 20_000 };
const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]();
});

/** Both ways to one service. What is relayed goes through JSON, as over a socket. */
async function bothWays(reply: Reply) {
  const server = await startScriptedServer([reply]);
  const { baseUrl } = server;
  const identity = { key: baseUrl, address: baseUrl };
  const direct = createProductionDataService(
    { baseUrl, token: { kind: 'value', value: secret }, timeoutMs: 500, concurrency: 2, maxBodyBytes: 100_000, retry },
    { secrets: new Secrets([secret]) },
  );
  opened.push({ [Symbol.asyncDispose]: () => direct.close() }, server);
  const answer = answeringRelayed(direct.sender, async () => undefined);
  const ask: AskWorker = async (request, signal) => {
    let reached: string | undefined;
    await answer(JSON.parse(JSON.stringify(request)), signal, async (relayed) => {
      reached = JSON.stringify(relayed);
    });
    expect(reached).not.toContain(secret);
    return JSON.parse(reached ?? 'null') as unknown;
  };
  return { server, direct, relayed: createRelayedService({ identity, baseUrl, retry }, ask), ask };
}

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return JSON.stringify(await call);
  } catch (error) {
    const name = error instanceof Error ? error.name : undefined;
    const serviceDown = error instanceof TransientError ? error.serviceDown : undefined;
    return { name, serviceDown, ...faultOf(error) };
  }
}

const calls: Readonly<Record<string, (service: ProductionDataService) => Promise<unknown>>> = {
  page: (service) => service.fetchDailyProductionPage({ uwi: 'NO 15/9-F-1 C', limit: 5 }),
  well: (service) => service.fetchWell('W 1'),
};

const replies: Readonly<Record<string, Reply>> = {
  'a page': { body: [{ uwi: 'A', oil: 1.5 }] },
  'text with the bytes of no character': { body: Buffer.from([0x5b, 0x22, 0xff, 0xc3, 0x22, 0x5d]) },
  nothing: { status: 204, body: '' },
  'another success': { status: 203, body: [] },
  'a part': { status: 206, headers: { 'content-range': 'items 0-1/9' } },
  'a web page': { headers: { 'content-type': 'text/html' }, body: '<html>sign in</html>' },
  'no JSON': { body: 'so be it' },
  '400': { status: 400, body: { error: 'no such limit' } },
  '401': { status: 401, body: `not ${secret}` },
  '403': { status: 403 },
  '404': { status: 404, body: { error: 'unknown' } },
  '429 without a time': { status: 429 },
  '429 with a time': { status: 429, headers: { 'retry-after': '0' } },
  '503': { status: 503, body: `Bearer ${secret.slice(0, 12)}` },
  'a reset': { fault: 'reset' },
  'a body that is cut': { fault: 'truncate', body: [{ uwi: 'A' }] },
  'no answer': { fault: 'hang' },
  'a body that is too large': { body: 'x'.repeat(200_000) },
};

describe('a read through the working process', () => {
  for (const [name, reply] of Object.entries(replies)) {
    it(`ends as its own would: ${name}`, async () => {
      const { server, direct, relayed } = await bothWays(reply);
      for (const call of Object.values(calls)) {
        const before = server.requests.length;
        const own = await outcomeOf(call(direct));
        const sent = server.requests.length - before;
        expect(await outcomeOf(call(relayed))).toEqual(own);
        // As often, and as the same request.
        expect(server.requests.length - before).toBe(2 * sent);
        expect(server.requests.at(-1)).toEqual(server.requests[before]);
      }
    });
  }

  it('G6: changes nothing at the service', async () => {
    const { relayed, ask, server } = await bothWays({ body: 1 });
    await expect(relayed.deleteMicroStrings('W1')).rejects.toThrow('only a run changes something');
    await expect(relayed.upsertNetworkPipes('[]')).rejects.toThrow('only a run changes something');
    const { signal } = new AbortController();
    const service = { key: 'http://a', address: 'http://a' };
    const read = { service, endpoint: 'well', path: '/api/wells/W1', accept: 'application/json' };
    for (const wrong of [
      { ...read, method: 'DELETE' },
      { ...read, path: 'http://elsewhere/' },
      { ...read, path: '//elsewhere/' },
      { ...read, path: '/a\r\nHost: elsewhere' },
      { ...read, headers: {} },
      { ...read, service: undefined },
      { ...read, service: { key: 'x'.repeat(3_000), address: 'http://a' } },
      null,
      [],
    ]) {
      await expect(ask(wrong, signal)).rejects.toThrow('"code": ');
    }
    expect(server.requests).toEqual([]);
  });

  it('G10: has nothing of the token in it, whole or cut', async () => {
    for (const reply of [replies['401'], replies['503'], { body: [{ uwi: secret }] }]) {
      const { relayed } = await bothWays(reply ?? {});
      const outcome = JSON.stringify(await outcomeOf(relayed.fetchWell('W1')));
      expect(outcome).not.toContain(secret.slice(0, 12));
    }
  });
});
