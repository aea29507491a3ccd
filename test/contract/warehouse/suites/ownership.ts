/** The ownership of a warehouse by the port (G11). */
import { describe, expect, it } from 'vitest';
import { TakenOverError, UsageError } from '../../../../src/core/base/errors.ts';
import { serviceIdentity, type ServiceIdentity } from '../../../../src/core/base/service-key.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { committedAtMs } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const addressA = 'https://a.example.com';
const addressB = 'https://b.example.com';
const change = { by: 'tester@host', atMs: committedAtMs, dryRun: false };

function identityOf(address: string, id?: string): ServiceIdentity {
  const identity = serviceIdentity(address, id);
  if (identity === undefined) throw new Error(`${address} is no address`);
  return identity;
}

function createRun({ ledger }: WarehouseHandle, runId: string, service: string): Promise<void> {
  return ledger.runs.create({
    runId,
    job: 'rehearse',
    params: {},
    service,
    actor: 'tester',
    requestedAtMs: committedAtMs,
  });
}

function keepProfile({ ledger }: WarehouseHandle, address: string): Promise<void> {
  return ledger.profiles.save(address, JSON.stringify({ of: address }), committedAtMs);
}

/** A push to the end of its file. */
async function pushTo({ ledger }: WarehouseHandle, runId: string, serviceUrl: string): Promise<void> {
  const unit = { unit: 0, chunk: 0, target: 'pipes.csv', spec: null };
  await ledger.runs.savePlan(runId, [unit], committedAtMs);
  await ledger.pushes.begin({
    runId,
    unit: 0,
    fileSha256: 'f',
    serviceUrl,
    form: 'auto',
    isAgain: false,
    begunAtMs: committedAtMs,
  });
}

export function describeOwnership(open: OpenWarehouse): void {
  describe('its owner', () => {
    const current = freshWarehouse(open);
    const a = () => current().another(identityOf(addressA));
    const b = () => current().another(identityOf(addressB));

    it('G11: is the service of the first run; a run, a profile and a check of another one end with both addresses', async () => {
      expect((await a().ledger.ownership.read()).service).toBeUndefined();
      await createRun(a(), 'r1', addressA);
      expect((await a().ledger.ownership.read()).service).toBe(addressA);
      const refused = [
        () => createRun(b(), 'r2', addressB),
        () => keepProfile(b(), addressB),
        () => b().ledger.ownership.checkService(identityOf(addressB)),
      ];
      for (const each of refused) {
        const fault = await each().catch((error: unknown) => error);
        expect(fault).toBeInstanceOf(UsageError);
        expect(String(fault)).toMatch(new RegExp(`${addressA}.*${addressB}`));
      }
      expect(await a().ledger.runs.read('r2')).toBeUndefined();
      expect(await a().ledger.profiles.read(addressB)).toBeUndefined();
    });

    it('G11: a check writes nothing', async () => {
      await a().ledger.ownership.checkService(identityOf(addressA));
      expect((await a().ledger.ownership.read()).service).toBeUndefined();
    });

    it('G11: an id stands for every address that it was configured with', async () => {
      await keepProfile(current().another(identityOf(addressA, 'production')), addressA);
      const moved = current().another(identityOf(addressB, 'production'));
      await createRun(moved, 'r1', 'production');
      expect(await moved.ledger.profiles.read(addressB)).toContain(addressA);
      expect((await moved.ledger.ownership.namesOf(addressB)).toSorted()).toEqual([addressA, addressB, 'production']);
      await expect(createRun(a(), 'r2', addressA)).rejects.toThrow('production');
    });

    it('G11: a service that moved is found by what its old address left, and the old one is refused', async () => {
      await keepProfile(a(), addressA);
      await createRun(a(), 'r1', addressA);
      await pushTo(a(), 'r1', addressA);
      await a().ledger.pushes.recordBodyLimit({ serviceUrl: addressA, maxBytes: 7, foundAtMs: committedAtMs });
      const { ownership } = current().warehouse.ledger;
      const counts = { profiles: 1, runs: 1, pushes: 1, plans: 0 };
      const before = await ownership.read();
      expect(await ownership.move(addressA, addressB, { ...change, dryRun: true })).toEqual(counts);
      expect(await ownership.read()).toEqual(before);
      expect(await ownership.move(addressA, addressB, change)).toEqual(counts);

      const { ledger } = b();
      await ledger.ownership.checkService(identityOf(addressB));
      expect(await ledger.profiles.read(addressB)).toContain(addressA);
      expect(await ledger.pushes.find({ fileSha256: 'f', serviceUrl: addressB, form: 'auto' })).toMatchObject({
        runId: 'r1',
      });
      expect(await ledger.pushes.bodyLimit(addressB, 0)).toBe(7);
      expect(await ownership.read()).toEqual({ ...before, service: addressB, epoch: before.epoch + 1 });
      expect(await ownership.aliases()).toEqual([
        { address: addressA, movedAtMs: committedAtMs, movedBy: 'tester@host' },
      ]);
      await expect(createRun(a(), 'r3', addressA)).rejects.toThrow('old name');
    });

    it('G11: a service can move on and back, and each of its names stays known', async () => {
      await createRun(a(), 'r1', addressA);
      const { ownership } = current().warehouse.ledger;
      await ownership.move(addressA, addressB, change);
      await ownership.move(addressB, 'production', change);
      expect((await ownership.namesOf('production')).toSorted()).toEqual([addressA, addressB, 'production']);
      await ownership.move('production', addressA, change);
      expect((await ownership.read()).service).toBe(addressA);
      expect((await ownership.namesOf(addressB)).toSorted()).toEqual([addressA, addressB, 'production']);
      await expect(ownership.move('https://c.example.com', 'https://d.example.com', change)).rejects.toThrow(addressA);
    });

    it.each([
      ['several services', [addressA, addressB]],
      ['no service', []],
    ])('G11: a warehouse whose records name %s is written to once it was adopted', async (words, addresses) => {
      const { warehouse } = current();
      // A handle without a service writes as an earlier version did.
      await createRun(warehouse, 'old', addressA);
      for (const address of addresses) await keepProfile(warehouse, address);
      await expect(createRun(a(), 'r1', addressA)).rejects.toThrow(words);
      const { ownership } = warehouse.ledger;
      await expect(ownership.adopt(undefined, change)).rejects.toThrow(UsageError);
      expect(await ownership.adopt(addressA, { ...change, dryRun: true })).toBe(addressA);
      expect((await ownership.read()).service).toBeUndefined();
      expect(await ownership.adopt(addressA, change)).toBe(addressA);
      await createRun(a(), 'r1', addressA);
      await expect(createRun(b(), 'r2', addressB)).rejects.toThrow(addressA);
      await expect(ownership.adopt(addressB, change)).rejects.toThrow(addressA);
    });

    it('G11: a warehouse whose records name one service belongs to that', async () => {
      const { warehouse } = current();
      await createRun(warehouse, 'old', addressA);
      await keepProfile(warehouse, addressA);
      await expect(createRun(b(), 'r1', addressB)).rejects.toThrow(addressA);
      await createRun(a(), 'r1', addressA);
      expect((await warehouse.ledger.ownership.read()).service).toBe(addressA);
    });

    it('G11: a service that the records do not name cannot adopt a warehouse, and the one that they name can move', async () => {
      const { warehouse } = current();
      await createRun(warehouse, 'old', addressA);
      await keepProfile(warehouse, addressA);
      const { ownership } = warehouse.ledger;
      expect((await ownership.read()).service).toBe(addressA);
      await expect(ownership.adopt(addressB, change)).rejects.toThrow(`name ${addressA}, and not ${addressB}`);
      await ownership.move(addressA, addressB, change);
      await createRun(b(), 'r1', addressB);
      await expect(createRun(a(), 'r2', addressA)).rejects.toThrow('old name');
    });

    it('G11: every transaction of a queue that was taken over ends, and those of the next one go on', async () => {
      const [stale, next] = [a(), a()];
      const seen = (await stale.ledger.ownership.read()).epoch;
      const first = (await stale.ledger.ownership.takeOver('queue one', seen, 'redis')) ?? -1;
      const taken: Error[] = [];
      stale.ledger.ownership.fence(first, (error) => taken.push(error));
      await createRun(stale, 'r1', addressA);
      const second = (await next.ledger.ownership.takeOver('queue two', first, 'redis')) ?? -1;
      expect(second).toBe(first + 1);
      next.ledger.ownership.fence(second, (error) => taken.push(error));
      await expect(createRun(stale, 'r2', addressA)).rejects.toThrow(TakenOverError);
      await expect(stale.ledger.runs.settle('r1', [{ unit: 0, state: 'done', counts: {} }])).rejects.toThrow(
        TakenOverError,
      );
      expect(taken.length).toBeGreaterThan(0);
      expect(taken.every((error) => error instanceof TakenOverError)).toBe(true);
      expect(await next.ledger.runs.read('r2')).toBeUndefined();
      await createRun(next, 'r2', addressA);
      expect(await next.ledger.ownership.takeOver('queue three', first, 'redis')).toBeUndefined();
    });

    it('G11: a worker that began before the first run stops when that is for another service', async () => {
      const stale = a();
      stale.ledger.ownership.fence((await stale.ledger.ownership.read()).epoch, () => undefined);
      expect(await stale.ledger.runs.unfinished()).toHaveLength(0);
      await createRun(b(), 'r1', addressB);
      await expect(stale.ledger.runs.unfinished()).rejects.toThrow(TakenOverError);
    });

    it('G11: its beat is that of the latest epoch, and nobody else ends it', async () => {
      const { ownership } = current().warehouse.ledger;
      expect(await ownership.beatAgeMs()).toBeUndefined();
      await ownership.takeOver('queue one', (await ownership.read()).epoch, 'redis');
      expect(await ownership.beatAgeMs()).toBeLessThan(60_000);
      await ownership.beat('queue one', 1);
      await ownership.takeOver('queue two', 1, 'redis');
      await expect(ownership.beat('queue one', 1)).rejects.toThrow(TakenOverError);
      await ownership.endBeat('queue one', 1);
      expect(await ownership.beatAgeMs()).toBeDefined();
      await ownership.endBeat('queue two', 1);
      expect(await ownership.beatAgeMs()).toBeDefined();
      await ownership.endBeat('queue two', 2);
      expect(await ownership.beatAgeMs()).toBeUndefined();
    });

    it('G11: a change of its service ends the beat, and the queue of the old name beats no more', async () => {
      await createRun(a(), 'r1', addressA);
      const { ownership } = current().warehouse.ledger;
      const epoch = (await ownership.takeOver('queue one', (await ownership.read()).epoch, 'redis')) ?? -1;
      await ownership.move(addressA, addressB, { ...change, dryRun: true });
      expect(await ownership.beatAgeMs()).toBeDefined();
      await ownership.move(addressA, addressB, change);
      expect(await ownership.beatAgeMs()).toBeUndefined();
      await expect(ownership.beat('queue one', epoch)).rejects.toThrow(TakenOverError);
      expect(await ownership.beatAgeMs()).toBeUndefined();
    });
  });
}
