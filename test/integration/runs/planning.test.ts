/** Runs that are stopped, or meet an outage, while they are planned. */
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { OutageError } from '../../../src/core/base/errors.ts';
import { anyJob, type Job } from '../../../src/runs/job.ts';
import { deferred } from '../../support/deferred.ts';
import { engineHere } from '../../support/engine-here.ts';

type Plan = Job<Record<string, never>>['plan'];

const patiently = { timeout: 60_000, interval: 50 };

/** A job whose units are done as soon as they are planned. */
function jobPlannedBy(plan: Plan) {
  return anyJob<Record<string, never>>({
    name: 'plan',
    units: { one: 'unit', many: 'units', failing: 'failed', held: 'held' },
    record: undefined,
    counts: [],
    queue: 'export',
    params: z.strictObject({}),
    plan,
    async work(chunk, { ledger }) {
      const outcomes = chunk.units.map(({ unit }) => ({ unit, state: 'done', counts: {} }) as const);
      await ledger.runs.settle(chunk.runId, outcomes);
      await chunk.settled(outcomes);
      return [];
    },
  });
}

const oneUnit = [{ unit: 0, chunk: 0, target: 'u', spec: {} }] as const;

test('a cancel ends a run while it is planned, however long that would take', async () => {
  const [begun, never] = [deferred(), deferred()];
  const plan: Plan = async () => {
    begun.resolve();
    await never.promise;
    return oneUnit;
  };
  await using engine = await engineHere('https://service.example', [jobPlannedBy(plan)]);
  const run = await engine.start('plan', {});
  await begun.promise;
  await engine.cancel(run);
  expect(await engine.reportOf(run)).toMatchObject({ state: 'cancelled' });
});

test('G7: a worker that stops hands a run back that it plans, and another one plans it', async () => {
  const [begun, never] = [deferred(), deferred()];
  let plans = 0;
  const plan: Plan = async () => {
    plans += 1;
    begun.resolve();
    if (plans === 1) await never.promise;
    return oneUnit;
  };
  const engine = await engineHere('https://service.example', [jobPlannedBy(plan)]);
  const run = await engine.start('plan', {});
  await begun.promise;
  await engine.restartWorkers();
  expect(await engine.reportOf(run)).toMatchObject({ state: 'done' });
  expect(plans).toBe(2);
  await engine[Symbol.asyncDispose]();
});

test('G7: a plan that meets an outage is made again when it is over, and is no bug', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  let isFull = true;
  const plan: Plan = async () => {
    if (isFull) throw new OutageError('disk', 'file-trouble', 'x cannot be used: the disk is full');
    return oneUnit;
  };
  await using engine = await engineHere('https://service.example', [jobPlannedBy(plan)], { log });
  const run = await engine.start('plan', {});
  await vi.waitFor(() => expect(lines.join('')).toContain('work waits for the disk'), patiently);
  isFull = false;
  expect(await engine.reportOf(run)).toMatchObject({ state: 'done' });
  expect(lines.join('')).not.toContain('"level":"error"');
});

test('a plan whose outage lasts longer than the hold ends the run with its reason', async () => {
  const plan: Plan = async () => {
    throw new OutageError('disk', 'file-trouble', 'x cannot be used: the disk is full');
  };
  await using engine = await engineHere('https://service.example', [jobPlannedBy(plan)], { maxHoldMs: 1_500 });
  const report = await engine.reportOf(await engine.start('plan', {}));
  expect(report).toMatchObject({ state: 'failed', stopped: { code: 'file-trouble' } });
});
