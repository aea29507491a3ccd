/** How one chunk is sent: what is halved, what is given up, and what is remembered, at a real service. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyLimit, ChunkSender, type SenderContext } from '../../../../jobs/network-pipes/chunk-sender.ts';
import { AbortedError, NotFoundError, TransientError } from '../../../../src/core/base/errors.ts';
import type { PipeItem } from '../../../../src/pipes/items.ts';
import { startTestingServer, type TestingServerSetup } from '../../../../src/testing-server/testing-server.ts';
import { readText, tenColumns } from '../../../support/pipes.ts';
import { expectForAllAsync } from '../../../support/property-runs.ts';
import { rejectionOf, serviceAt } from '../../../support/service-under-test.ts';

async function pipes(count: number): Promise<readonly PipeItem[]> {
  const rows = Array.from({ length: count }, (_, index) => `N,P${index},,,,true,[1],[2],[3],`);
  return (await readText([tenColumns, ...rows].join('\n'))).items;
}

async function sending(setup: TestingServerSetup, parts: Partial<SenderContext> = {}) {
  const server = await startTestingServer(setup);
  const { service } = serviceAt(server.url);
  const limit = parts.limit ?? new BodyLimit(1_000_000, undefined);
  const signal = new AbortController().signal;
  const sender = new ChunkSender({
    service,
    limit,
    signal,
    isOwned: () => true,
    givesUpItems: () => false,
    ...parts,
  });
  return {
    sender,
    limit,
    server,
    [Symbol.asyncDispose]: async () => {
      await service.close();
      await server.close();
    },
  };
}

const idsOf = (items: readonly PipeItem[]): readonly string[] => items.map((item) => item.sourceId);
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `P${index}`);

/** Of two pipes. */
const partBytes = 250;

describe('a slice', () => {
  test('goes in one request, numbers as they were written', async () => {
    await using at = await sending({});
    const { items } = await readText(
      `${tenColumns}\nN,P,,,,,"[38.211669000000001,8e-05,-0.0]",[12345678901234567890],,`,
    );
    expect(await at.sender.send(items)).toMatchObject({ accepted: items, refused: [], failed: [], requests: 1 });
    expect(at.server.state.pipes().map(({ raw }) => raw)).toEqual([
      '{"sourceNetworkId":"N","sourceId":"P","length":[38.211669000000001,8e-05,-0.0],"trueVerticalDepth":[12345678901234567890]}',
    ]);
  });

  test.each(['all-or-nothing', 'partial'] as const)(
    'that the service refuses (%s) is halved until the guilty stand alone, with its words',
    async (bulkRejection) => {
      await using at = await sending({ bulkRejection, rejectSourceIds: ['P3', 'P17'] });
      const outcome = await at.sender.send(await pipes(20));
      expect(idsOf(outcome.refused.map(({ item }) => item))).toEqual(['P3', 'P17']);
      expect(outcome.refused[0]?.reason).toMatch(/^the service answered 422: .*pipe P3/);
      expect(new Set(idsOf(outcome.accepted))).toEqual(
        new Set(numbered(20).filter((id) => id !== 'P3' && id !== 'P17')),
      );
      expect(outcome.requests).toBeLessThanOrEqual(1 + 2 * 2 * 5);
    },
  );

  test('that is too large is halved, and the next one is not sent so large again', async () => {
    await using at = await sending({ maxBodyBytes: 1_000 });
    const items = await pipes(40);
    const first = await at.sender.send(items);
    expect(idsOf(first.accepted)).toEqual(numbered(40));
    expect(at.limit.maxBytes).toBeLessThanOrEqual(1_000);
    expect(at.limit.takeFound()).toBe(at.limit.maxBytes);
    expect(at.limit.takeFound()).toBeUndefined();
    const second = await at.sender.send(items);
    expect(second.requests).toBeLessThan(first.requests);
  });

  test('of which one pipe alone is too large loses that pipe, and leaves the size for the others as it was', async () => {
    await using at = await sending({ maxBodyBytes: 500 }, { limit: new BodyLimit(400, undefined) });
    const long = Array.from({ length: 300 }, () => '1').join(',');
    const { items } = await readText(`${tenColumns}\nN,small,,,,,,,,\nN,large,,,,,"[${long}]",,,`);
    const outcome = await at.sender.send(items);
    expect(idsOf(outcome.accepted)).toEqual(['small']);
    expect(outcome.refused).toMatchObject([{ reason: expect.stringMatching(/^the service answered 413/) }]);
    expect(at.limit.maxBytes).toBe(400);
  });

  test('G5: a chunk is sent again after a reset with unknown effect', async () => {
    let requests = 0;
    await using at = await sending({ onRequest: () => ((requests += 1) === 1 ? 'resetAfterStoring' : undefined) });
    const outcome = await at.sender.send(await pipes(3));
    expect(outcome).toMatchObject({ accepted: { length: 3 }, requests: 2 });
    expect(at.server.state.pipes().map(({ writes }) => writes)).toEqual([2, 2, 2]);
  });

  test('is left to the queue when what is transient lasts', async () => {
    await using at = await sending({ faults: { unavailable: 1 } });
    expect(await rejectionOf(at.sender.send(await pipes(3)))).toBeInstanceOf(TransientError);
  });

  test('in its last attempt loses only the pipe over which the service breaks', async () => {
    const breaksOver = ({ sourceId }: { readonly sourceId: string }): boolean => {
      if (sourceId === 'P5') throw new Error('the service breaks');
      return false;
    };
    await using at = await sending({ rejectPipe: breaksOver }, { givesUpItems: () => true });
    const outcome = await at.sender.send(await pipes(16));
    expect(outcome.failed).toMatchObject([
      { item: { sourceId: 'P5' }, reason: expect.stringMatching(/^the service answered 500/) },
    ]);
    expect(outcome.refused).toEqual([]);
    expect(idsOf(outcome.accepted)).toEqual(numbered(16).filter((id) => id !== 'P5'));
  });

  test('G1: the last attempt of a chunk loses no pipe to an outage, whenever it begins and ends', async () => {
    const items = await pipes(8);
    const outages = { outlived: 0, leftToTheQueue: 0 };
    // Each request is tried three times: up to two failures stay within it.
    const lengths = fc.oneof(fc.nat(2), fc.integer({ min: 3, max: 100 }));
    await expectForAllAsync(
      fc.asyncProperty(fc.nat(5), lengths, async (first, length) => {
        let requests = 0;
        const onRequest = () => {
          requests += 1;
          return requests > first && requests <= first + length ? 'reset' : undefined;
        };
        await using at = await sending(
          { onRequest },
          { givesUpItems: () => true, limit: new BodyLimit(partBytes, undefined) },
        );
        const outcome = await at.sender.send(items).catch((error: unknown) => error);
        if (outcome instanceof TransientError) {
          expect(length).toBeGreaterThan(2);
          outages.leftToTheQueue += 1;
          return;
        }
        expect(outcome).toMatchObject({ accepted: { length: 8 }, refused: [], failed: [] });
        if (length > 0 && requests > first) outages.outlived += 1;
      }),
      60,
    );
    // Else the property would have shown nothing.
    expect(outages.outlived).toBeGreaterThan(0);
    expect(outages.leftToTheQueue).toBeGreaterThan(0);
  });

  test('in its last attempt is left all the same when nothing gets through any more', async () => {
    await using at = await sending({ faults: { unavailable: 1 } }, { givesUpItems: () => true });
    expect(await rejectionOf(at.sender.send(await pipes(64)))).toBeInstanceOf(TransientError);
    expect(at.server.state.requests().total).toBeLessThanOrEqual(20 * 3);
  });

  test('whose request leads nowhere stops the push: no pipe of it is at fault', async () => {
    await using at = await sending({});
    const { service } = serviceAt(`${at.server.url}/elsewhere`);
    const sender = new ChunkSender({
      service,
      limit: at.limit,
      signal: new AbortController().signal,
      isOwned: () => true,
      givesUpItems: () => true,
    });
    expect(await rejectionOf(sender.send(await pipes(3)))).toBeInstanceOf(NotFoundError);
    await service.close();
  });

  test('G5: a chunk is not sent by a worker that may have lost its lease', async () => {
    await using at = await sending({}, { isOwned: () => false });
    expect(await rejectionOf(at.sender.send(await pipes(3)))).toBeInstanceOf(AbortedError);
    expect(at.server.state.requests().total).toBe(0);
  });
});
