/** Rules of the ledgers that rest on one writer at a time in DuckDB, with several at a time on PostgreSQL. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { TakenOverError } from '../../../../src/core/base/errors.ts';
import { serviceIdentity } from '../../../../src/core/base/service-key.ts';
import type { UnitOutcome } from '../../../../src/core/run/run.ts';
import type { WarehouseHandle } from '../../../../src/warehouse/port/warehouse.ts';
import { databaseOfTest, holding, postgresLack } from '../../../support/postgres/database.ts';
import { handleOf, temporaryPostgres } from '../../../support/postgres/warehouse.ts';
import { committedAtMs } from '../../../support/warehouse-batches.ts';
import { freshWarehouse } from '../../../support/warehouse-under-test.ts';

const lack = await postgresLack('newest');
const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
/** Handles that work at the same time, each with connections of its own. */
const hosts = 4;

const request = (runId: string) => ({
  runId,
  job: 'rehearse',
  params: {},
  service: 'https://service.example',
  actor: 'tester@host',
  requestedAtMs: committedAtMs,
});
const units = Array.from({ length: 40 }, (_, unit) => ({ unit, chunk: 0, target: `target ${unit}`, spec: null }));
const done = (unit: number, counts: UnitOutcome['counts'] = { read: 1 }): UnitOutcome => ({
  unit,
  state: 'done',
  counts,
});

describe.skipIf(lack !== undefined)(
  `writers at the same time on PostgreSQL${lack === undefined ? '' : ` (${lack})`}`,
  () => {
    const test = freshWarehouse(temporaryPostgres('newest'));
    const atOnce = <T>(work: (warehouse: WarehouseHandle, host: number) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: hosts }, (_, host) => work(test().another(), host)));

    it('G1: make one run of the same request', async () => {
      const others = await atOnce(({ ledger }, host) =>
        ledger.runs.createOnce({ ...request(`run-${host}`), requestKey: 'same' }, ['a', 'b']),
      );
      const { runs } = await test().warehouse.ledger.runs.list({ limit: 10 });
      expect(runs).toHaveLength(1);
      expect(others.map((other) => other?.runId ?? runs[0]?.runId)).toEqual(Array(hosts).fill(runs[0]?.runId));
      expect(others.filter((other) => other === undefined)).toHaveLength(1);
    });

    it('G1: make one run of an id', async () => {
      const made = await Promise.allSettled(
        Array.from({ length: hosts }, () => test().another().ledger.runs.create(request('run'), ['a', 'b'])),
      );
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(made.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))).toEqual(
        Array(hosts - 1).fill(expect.stringContaining('there is a run run already')),
      );
    });

    it('G1: plan a run once, and settle each unit once', async () => {
      await test().warehouse.ledger.runs.create(request('run'));
      await atOnce(({ ledger }) => ledger.runs.savePlan('run', units, committedAtMs));
      // In orders that meet: each host begins at another unit.
      const settled = await atOnce(({ ledger }, host) =>
        ledger.runs.settle(
          'run',
          units.map((_, index) => done((index + host * 10) % units.length, { read: host })),
        ),
      );
      expect(settled.flat().toSorted((left, right) => left - right)).toEqual(units.map(({ unit }) => unit));
      const totals = await test().warehouse.ledger.runs.totals('run');
      expect(totals.units).toMatchObject({ total: units.length, done: units.length, open: 0 });
    });

    it('G2: end a run once, and open it again once', async () => {
      const { runs } = test().warehouse.ledger;
      await runs.create(request('run'));
      await runs.savePlan('run', units, committedAtMs);
      await runs.settleRest('run', { state: 'failed', fault: { code: 'x', message: 'x' } });
      const { failures, notices, ...sums } = await runs.totals('run');
      const report = {
        runId: 'run',
        job: 'rehearse',
        state: 'failed',
        ...sums,
        failures,
        notices,
        finishedAtMs: 1,
      } as never;
      await atOnce(({ ledger }) => ledger.runs.finish(report));
      const opened = await Promise.allSettled(
        Array.from({ length: hosts }, () => test().another().ledger.runs.reopen('run')),
      );
      expect(opened.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await runs.readHead('run')).toMatchObject({ state: 'queued', generation: 1 });
    });

    it('G5: let one run push a content', async () => {
      const starts = await atOnce(async ({ ledger }, host) => {
        await ledger.runs.create(request(`run-${host}`));
        await ledger.runs.savePlan(`run-${host}`, units.slice(0, 1), committedAtMs);
        return ledger.pushes.begin({
          runId: `run-${host}`,
          unit: 0,
          fileSha256: 'f',
          serviceUrl: 'https://service.example',
          form: 'auto',
          isAgain: false,
          begunAtMs: committedAtMs,
        });
      });
      expect(starts.map(({ kind }) => kind).toSorted()).toEqual(['begun', ...Array(hosts - 1).fill('waits')]);
    });

    it('G11: give the warehouse to one queue, and to one service', async () => {
      const epochs = await atOnce(({ ledger }, host) => ledger.ownership.takeOver(`queue-${host}`, 0, 'redis'));
      expect(epochs.filter((epoch) => epoch !== undefined)).toEqual([1]);
      const services = Array.from({ length: hosts }, (_, host) =>
        serviceIdentity(`https://${host}.example.com`, undefined),
      );
      const claims = await Promise.allSettled(
        services.map((service, host) =>
          test()
            .another(service)
            .ledger.runs.create(request(`run-${host}`)),
        ),
      );
      expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect((await test().warehouse.ledger.runs.list({ limit: 10 })).runs).toHaveLength(1);
    });

    it('G11: queues that take it over at one time end one after the other, and not in a circle', async () => {
      const { url, name, run } = await databaseOfTest();
      const service = serviceIdentity('https://service.example', undefined);
      const owner = handleOf(url, service);
      onTestFinished(() => owner.close());
      await owner.ledger.runs.create(request('run'));
      // No circle of them is broken by the server.
      await run(`ALTER DATABASE ${name} SET deadlock_timeout = '10min'`);
      const working = await holding(url, 'SELECT 1 FROM warehouse FOR SHARE');
      const takeovers = Array.from({ length: hosts }, (_, host) => {
        const handle = handleOf(url, service);
        onTestFinished(() => handle.close());
        return handle.ledger.ownership.takeOver(`queue-${host}`, 0, 'embedded');
      });
      await expect.poll(() => run(waiting)).toHaveLength(hosts);
      await working.end();
      const epochs = await Promise.all(takeovers);
      expect(epochs.filter((epoch) => epoch !== undefined)).toEqual([1]);
    });

    it('what a queue writes of the warehouse itself keeps no other transaction of it in a circle', async () => {
      const { url, name, run } = await databaseOfTest();
      const handles = Array.from({ length: hosts }, () => handleOf(url));
      onTestFinished(async () => void (await Promise.all(handles.map((handle) => handle.close()))));
      await handles[0]?.ledger.ownership.takeOver('queue', 0, 'redis');
      for (const { ledger } of handles) ledger.ownership.fence(1, () => undefined);
      await run(`ALTER DATABASE ${name} SET deadlock_timeout = '10min'`);
      await run(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
      const reading = await holding(url, 'SELECT 1 FROM warehouse FOR SHARE');
      const pruned = handles.map(({ ledger }, host) => ledger.retention.recordPruned(committedAtMs + host));
      await expect.poll(() => run(waiting)).toHaveLength(hosts);
      await reading.end();
      await Promise.all(pruned);
      expect(await run('SELECT pruned_at IS NOT NULL AS done FROM warehouse')).toEqual([{ done: true }]);
    });

    it('G11: a queue that was taken over commits nothing more, not even what it had begun', async () => {
      const [first, second] = [test().another(), test().another()];
      await first.ledger.ownership.takeOver('first', 0, 'redis');
      const taken: Error[] = [];
      first.ledger.ownership.fence(1, (error) => taken.push(error));
      let takeover: Promise<number | undefined> | undefined;
      async function* targets(): AsyncGenerator<string> {
        yield 'a';
        // Waits for the transaction that is under way.
        takeover = second.ledger.ownership.takeOver('second', 1, 'redis');
        await new Promise((resolve) => setTimeout(resolve, 200));
        yield 'b';
      }
      await first.ledger.runs.create(request('before'), targets());
      expect(await takeover).toBe(2);
      await expect(first.ledger.runs.create(request('after'))).rejects.toThrow(TakenOverError);
      expect(taken).toHaveLength(1);
      expect((await second.ledger.runs.list({ limit: 10 })).runs.map(({ runId }) => runId)).toEqual(['before']);
    });
  },
);
