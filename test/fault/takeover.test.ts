/** Two queues and one warehouse (G11). redis-lost.full.test.ts has an operator's beat intervals. */
import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { push, pipesPast, openScene, expectWhole, patienceMs, pipes, refusalOf } from '../support/short-beat-scene.ts';

describe('two queues on one warehouse', () => {
  it('G11: the second worker does not start while the first lives, and nobody queues anything beside it', async () => {
    await using scene = await openScene();
    const one = scene.worker('one');
    await one.working;
    const runId = await push(scene, 'one', pipes);
    await pipesPast(scene, 1_000);
    const two = scene.worker('two');
    expect(await refusalOf(two), two.said()).toBe(5);
    expect(two.said()).toContain('worked through another queue');
    const beside = await scene.home.here(['export', 'daily-production', '--uwi', 'any'], { env: scene.env('two') });
    expect(beside.code, beside.stderr).toBe(5);
    expect(beside.stderr).toContain('WELLSYNC_QUEUE_PREFIX');
    const inline = await scene.home.here(['export', 'daily-production', '--uwi', 'any', '--inline'], {
      env: scene.env('two'),
    });
    expect(inline.code, inline.stderr).toBe(5);
    await expectWhole(scene, 'one', runId);
    expect(await scene.query('SELECT count(*) AS runs FROM run')).toEqual([{ runs: 1 }]);
    // Repeated requests after a checkpoint are harmless; with two workers they would go on for ever.
    expect(scene.server.state.requests().total).toBeLessThan(2 * (pipes / 100));
    expect(one.said()).not.toContain('queue items were missing');
  });

  it('G7, G11: a killed worker is followed by one of another queue after its beat is old, which takes its run over', async () => {
    await using scene = await openScene();
    const one = scene.worker('one');
    await one.working;
    const runId = await push(scene, 'one', pipes);
    await pipesPast(scene, 2_000);
    one.signal('SIGKILL');
    await one.ended;
    // Refused while the beat is young: tried until it works.
    await vi.waitFor(() => scene.worker('two').working, { timeout: patienceMs, interval: 500 });
    // The first worker comes back: the other queue is alive now.
    const back = scene.worker('one');
    expect(await refusalOf(back), back.said()).toBe(5);
    await expectWhole(scene, 'two', runId);
    // A follower at the first queue gets the report as well.
    expect(await scene.report('one', runId)).toMatchObject({ state: 'done' });
    expect(await scene.query('SELECT epoch FROM warehouse')).toEqual([{ epoch: 2 }]);
  });

  it('G11: a worker that is stopped leaves no beat, so that another queue may start at once', async () => {
    await using scene = await openScene();
    const one = scene.worker('one');
    await one.working;
    expect(existsSync(`${scene.home.warehouseFile}.beat`)).toBe(true);
    one.signal('SIGTERM');
    expect(await one.ended, one.said()).toBe(0);
    expect(existsSync(`${scene.home.warehouseFile}.beat`)).toBe(false);
    await scene.worker('two').working;
  });

  it('G11: two warehouses of one service do not share a prefix', async () => {
    await using scene = await openScene();
    await scene.worker('one').working;
    const file = `${scene.home.folder}/other.duckdb`;
    const other = scene.worker('one', { WELLSYNC_WAREHOUSE: `duckdb:${file}` });
    expect(await refusalOf(other), other.said()).toBe(5);
    expect(other.said()).toContain('work another warehouse');
    const pipesFile = await scene.home.write('pipes.csv', 'sourceNetworkId,sourceId\nn,p1\n');
    for (const words of [
      ['export', 'daily-production', '--uwi', 'any'],
      ['push', 'network-pipes', pipesFile],
    ]) {
      const queued = await scene.home.here([...words, '--warehouse', `duckdb:${file}`], { env: scene.env('one') });
      expect(queued.code, queued.stderr).toBe(5);
      expect(queued.stderr).toContain('work another warehouse');
    }
    // A refused command makes no warehouse.
    expect(existsSync(file)).toBe(false);
  });
});
