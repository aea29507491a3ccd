/**
 * Pushes by the port: the checkpoint and its fence, the chunks, earlier pushes, and the body size that a service
 * accepts.
 */
import { describe, expect, it } from 'vitest';
import { AbortedError } from '../../../../src/core/base/errors.ts';
import { type PushCheckpoint, startOfPush } from '../../../../src/core/pipes/checkpoint.ts';
import type { RunReport, UnitOutcome } from '../../../../src/core/run/run.ts';
import type { PushedChunk, PushStore } from '../../../../src/warehouse/port/pushes.ts';
import { ask, committedAtMs } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

const sha = 'a'.repeat(64);
const serviceUrl = 'https://pds.example.com';
const begin = {
  runId: 'r1',
  unit: 0,
  fileSha256: sha,
  serviceUrl,
  form: 'auto' as const,
  isAgain: false,
  begunAtMs: committedAtMs,
};
const wanted = { fileSha256: sha, serviceUrl, form: 'auto' } as const;

function checkpointAt(line: number): PushCheckpoint {
  const rows = line - 2;
  return {
    position: { byte: rows * 100, line, form: 'wide' },
    counts: { rows, accepted: rows },
    rejectsBytes: 0,
    firstRejects: ['line 2: \ud800 is half a character'],
  };
}

function chunk(number: number): PushedChunk {
  return { chunk: number, firstLine: 2, lastLine: 11, items: 10, status: 'accepted', attempts: 1 };
}

const failedReport: RunReport = {
  runId: 'r1',
  job: 'push network-pipes',
  state: 'failed',
  units: { total: 1, done: 0, held: 0, failed: 1, cancelled: 0 },
  counts: {},
  balance: { balanced: true, statement: '' },
  failures: [],
  notices: [],
  startedAtMs: committedAtMs,
  finishedAtMs: committedAtMs,
};

/** Begins the push of a run without an obstacle. */
async function begun(pushes: PushStore, push = begin) {
  const start = await pushes.begin(push);
  if (start.kind !== 'begun') throw new Error(`the push of ${push.runId} ${start.kind}`);
  return start;
}

export function describePushes(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  async function planned(runId = 'r1', service = serviceUrl) {
    const { runs, pushes } = test().warehouse.ledger;
    await runs.create({
      runId,
      job: 'push network-pipes',
      params: {},
      service,
      actor: 'tester@host',
      requestedAtMs: committedAtMs,
    });
    await runs.savePlan(runId, [{ unit: 0, chunk: 0, target: 'pipes.csv', spec: {} }], committedAtMs);
    return { runs, pushes };
  }

  const step = (fence: number, line: number, settled?: UnitOutcome, runId = 'r1') => ({
    runId,
    unit: 0,
    fence,
    checkpoint: checkpointAt(line),
    chunks: [chunk(line)],
    savedAtMs: committedAtMs,
    ...(settled === undefined ? {} : { settled }),
  });
  const done = (line: number): UnitOutcome => ({ unit: 0, state: 'done', counts: checkpointAt(line).counts });

  describe('a push', () => {
    it('G7: a push begins at the start of the file, and resumes at its checkpoint', async () => {
      const { pushes } = await planned();
      expect(await pushes.begin(begin)).toEqual({ kind: 'begun', fence: 1, checkpoint: startOfPush });
      await pushes.save(step(1, 12));
      const { fence, checkpoint } = await begun(pushes);
      expect(fence).toBe(2);
      expect(checkpoint).toMatchObject({ ...checkpointAt(12), firstRejects: ['line 2: \ufffd is half a character'] });
    });

    it('G1, G7: a push saves nothing for a worker whose lease was taken over', async () => {
      const { pushes } = await planned();
      const slow = await begun(pushes);
      const next = await begun(pushes);
      await pushes.save(step(next.fence, 12));
      await expect(pushes.save(step(slow.fence, 22))).rejects.toBeInstanceOf(AbortedError);
      expect((await begun(pushes)).checkpoint.position?.line).toBe(12);
      expect(await ask(test().warehouse, 'SELECT chunk FROM push_ledger')).toEqual([[12]]);
    });

    it('keeps a line for each chunk: where in the file, how many items, what became of them', async () => {
      const { pushes } = await planned();
      await pushes.begin(begin);
      await pushes.save(step(1, 12));
      const columns = 'run_id, file_sha256, chunk, first_line, last_line, items, status, attempts';
      expect(await ask(test().warehouse, `SELECT ${columns} FROM push_ledger`)).toEqual([
        ['r1', sha, 12, 2, 11, 10, 'accepted', 1],
      ]);
    });

    it('G5: names contents that were pushed by the rule that dropped dates, until they are pushed again', async () => {
      const { pushes } = await planned();
      await pushes.begin(begin);
      await pushes.save(step(1, 22, done(22)));
      expect(await pushes.droppedDates()).toEqual([]);
      const former = '{"version":1,"position":null,"counts":{"rows":20,"superseded":16},"rejectsBytes":0}';
      const { ledger } = await test().changed(`UPDATE push SET checkpoint = '${former}'`);
      expect(await ledger.pushes.droppedDates()).toEqual([
        {
          runId: 'r1',
          name: undefined,
          file: undefined,
          fileSha256: sha,
          form: 'auto',
          rows: 16,
          completedAtMs: committedAtMs,
        },
      ]);
      // What it continues from is the start: it sends every date then.
      expect((await begun(ledger.pushes)).checkpoint).toEqual(startOfPush);

      const name = { runId: 'r2', job: 'push network-pipes', params: {}, service: serviceUrl, actor: 'a@b' };
      await ledger.runs.create({ ...name, requestedAtMs: committedAtMs });
      await ledger.runs.savePlan('r2', [{ unit: 0, chunk: 0, target: 'pipes.csv', spec: {} }], committedAtMs);
      const { fence } = await begun(ledger.pushes, { ...begin, runId: 'r2', isAgain: true });
      await ledger.pushes.save({ ...step(fence, 22, done(22), 'r2'), savedAtMs: committedAtMs + 1 });
      expect(await ledger.pushes.droppedDates()).toEqual([]);
    });

    it('keeps the identity of pipes apart: a content pushed with the other is not known', async () => {
      const { pushes } = await planned();
      await pushes.begin(begin);
      await pushes.save(step(1, 22, done(22)));
      expect(await pushes.find(wanted)).toMatchObject({ runId: 'r1' });
      expect(await pushes.find({ ...wanted, form: 'auto with-date' })).toBeUndefined();
    });

    it('G2: a push settles its unit with its last step', async () => {
      const { pushes, runs } = await planned();
      await pushes.begin(begin);
      await pushes.save(step(1, 22, done(22)));
      expect(await runs.totals('r1')).toMatchObject({
        units: { done: 1, open: 0 },
        counts: { rows: 20, accepted: 20 },
      });
    });

    it.each(['failed', 'cancelled'] as const)(
      'G2: a push that is %s keeps the counts of its checkpoint',
      async (state) => {
        const { pushes, runs } = await planned();
        await pushes.begin(begin);
        await pushes.save(step(1, 12));
        expect((await runs.totals('r1')).counts).toEqual({});
        if (state === 'failed') await runs.settle('r1', [{ unit: 0, state, counts: {} }]);
        else await runs.settleRest('r1', { state });
        expect(await runs.totals('r1')).toMatchObject({ units: { [state]: 1 }, counts: { rows: 10, accepted: 10 } });
      },
    );

    it('G2: a push that is resumed and fails at once keeps the counts of its checkpoint', async () => {
      const { pushes, runs } = await planned();
      await pushes.begin(begin);
      await pushes.save(step(1, 12));
      await runs.settle('r1', [{ unit: 0, state: 'failed', counts: {} }]);
      await runs.finish(failedReport);
      await runs.reopen('r1');
      await runs.settle('r1', [{ unit: 0, state: 'failed', counts: {} }]);
      expect(await runs.totals('r1')).toMatchObject({ units: { failed: 1 }, counts: { rows: 10, accepted: 10 } });
    });
  });

  describe('the push of a content', () => {
    it('is found while it is under way and when it is done, not where it was never begun', async () => {
      const { pushes } = await planned();
      expect(await pushes.find(wanted)).toBeUndefined();
      await pushes.begin(begin);
      expect(await pushes.find(wanted)).toEqual({ runId: 'r1', state: 'under-way', atMs: committedAtMs });
      await pushes.save(step(1, 22, done(22)));
      expect(await pushes.find(wanted)).toEqual({ runId: 'r1', state: 'done', atMs: committedAtMs });
      expect(await pushes.find({ ...wanted, fileSha256: 'b'.repeat(64) })).toBeUndefined();
    });

    it('is found for its own service and form alone: another may lack what it brought', async () => {
      const { pushes } = await planned();
      await pushes.begin(begin);
      expect(await pushes.find({ ...wanted, serviceUrl: 'https://production.example.com' })).toBeUndefined();
      expect(await pushes.find({ ...wanted, form: 'wide' })).toBeUndefined();
      expect(await pushes.find({ ...wanted, serviceUrl: undefined })).toMatchObject({ runId: 'r1' });
    });

    it('is not found where its run failed: another may push it', async () => {
      const { pushes, runs } = await planned();
      await pushes.begin(begin);
      await runs.settle('r1', [{ unit: 0, state: 'failed', counts: {} }]);
      await runs.finish(failedReport);
      expect(await pushes.find(wanted)).toBeUndefined();
    });
  });

  describe('G5: the claim on a content', () => {
    const second = { ...begin, runId: 'r2', begunAtMs: committedAtMs + 1 };

    async function twoPlanned() {
      await planned('r2');
      return planned('r1');
    }

    async function end(runId: string, state: 'done' | 'failed' | 'cancelled'): Promise<void> {
      const { runs, pushes } = test().warehouse.ledger;
      if (state === 'done') {
        const { fence } = await begun(pushes, { ...begin, runId });
        await pushes.save(step(fence, 22, done(22), runId));
      } else await runs.settle(runId, [{ unit: 0, state, counts: {} }]);
      await runs.finish({ ...failedReport, runId, state });
    }

    it('keeps a second run from pushing while the first has not ended, whichever worker asks', async () => {
      const { pushes } = await twoPlanned();
      await begun(pushes);
      const waits = { kind: 'waits', runId: 'r1', claimedAtMs: committedAtMs };
      expect(await pushes.begin(second)).toEqual(waits);
      await begun(pushes);
      expect(await pushes.begin(second)).toEqual(waits);
    });

    it('of a run that is done stands: a second run is given its name', async () => {
      const { pushes } = await twoPlanned();
      await end('r1', 'done');
      expect(await pushes.begin(second)).toEqual({ kind: 'pushed', runId: 'r1', counts: checkpointAt(22).counts });
    });

    it.each(['failed', 'cancelled'] as const)(
      'of a run that was %s is free, and then keeps that run from it',
      async (state) => {
        const { pushes, runs } = await twoPlanned();
        const { fence } = await begun(pushes);
        await pushes.save(step(fence, 12));
        await end('r1', state);
        expect(await begun(pushes, second)).toMatchObject({ fence: 1, checkpoint: startOfPush });
        await runs.reopen('r1');
        expect(await pushes.begin(begin)).toMatchObject({ kind: 'waits', runId: 'r2' });
        await end('r2', 'done');
        // What it had sent itself goes with it.
        expect(await pushes.begin(begin)).toEqual({
          kind: 'pushed',
          runId: 'r2',
          counts: checkpointAt(22).counts,
          sent: checkpointAt(12).counts,
        });
      },
    );

    it('is one for each content, service and form', async () => {
      const { pushes } = await twoPlanned();
      await begun(pushes);
      const production = 'https://production.example.com';
      await planned('elsewhere', production);
      for (const other of [
        { fileSha256: 'b'.repeat(64) },
        { runId: 'elsewhere', serviceUrl: production },
        { form: 'wide' as const },
      ]) {
        expect(await pushes.begin({ ...second, ...other })).toMatchObject({ kind: 'begun' });
      }
    });

    it('does not stop a run that pushes again, which leaves it to its holder', async () => {
      const { pushes } = await twoPlanned();
      await begun(pushes);
      await planned('r3');
      expect(await pushes.begin({ ...second, isAgain: true })).toMatchObject({ kind: 'begun' });
      expect(await pushes.begin({ ...begin, runId: 'r3' })).toMatchObject({ kind: 'waits', runId: 'r1' });
    });

    it('passes to a run that pushes again what is done, and back to what was done where that fails', async () => {
      const { pushes } = await twoPlanned();
      await planned('r3');
      await end('r1', 'done');
      expect(await pushes.begin({ ...second, isAgain: true })).toMatchObject({ kind: 'begun' });
      expect(await pushes.begin({ ...begin, runId: 'r3' })).toMatchObject({ kind: 'waits', runId: 'r2' });
      await end('r2', 'failed');
      expect(await pushes.begin({ ...begin, runId: 'r3' })).toEqual({
        kind: 'pushed',
        runId: 'r1',
        counts: checkpointAt(22).counts,
      });
    });
  });

  it('remembers for a while how large a body each service takes', async () => {
    const { pushes } = test().warehouse.ledger;
    const [here, there] = ['http://here', 'http://there'];
    await pushes.recordBodyLimit({ serviceUrl: here, maxBytes: 1_000, foundAtMs: 5 });
    await pushes.recordBodyLimit({ serviceUrl: here, maxBytes: 500, foundAtMs: 10 });
    expect(await pushes.bodyLimit(here, 10)).toBe(500);
    expect(await pushes.bodyLimit(here, 11)).toBeUndefined();
    expect(await pushes.bodyLimit(there, 0)).toBeUndefined();
  });
}
