/** A warehouse without Redis: one process works it, others hand it their work, and one that was killed is replaced at once. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { deferred } from '../support/deferred.ts';
import { all, field, midway, quicken, reportOf, rowsOf, sockets, stored } from '../support/embedded-field.ts';

describe('a warehouse without Redis', () => {
  test('is filled by a command that works its own run, and nothing is left of its queue', async () => {
    await using scene = await field({ latencyMs: 0 });
    const { home, exportAll } = scene;
    const record = path.join(home.folder, 'imports');
    const hook = path.resolve('test/support/record-imports.mjs');
    const env = { RECORDED_IMPORTS: record, NODE_OPTIONS: `--import=${hook}` };
    const { code, stdout, stderr } = await home.run(exportAll, { env });
    expect(code, stderr).toBe(0);
    expect(reportOf(stdout)).toMatchObject({ state: 'done', exitCode: 0 });
    expect(await stored(home)).toEqual(all);
    expect([await sockets(home), existsSync(`${home.warehouseFile}.beat`)]).toEqual([[], false]);
    expect(await rowsOf(home, `SELECT kind FROM queue_state WHERE kind <> 'log'`)).toEqual([]);
    const bundled = z
      .record(z.string(), z.array(z.string()))
      .parse(JSON.parse(await readFile('dist/program/packages.json', 'utf8')));
    const loaded = (await readFile(record, 'utf8')).split('\n').flatMap((url) => {
      const [, file = ''] = /\/dist\/program\/([^/]+)$/.exec(url) ?? [];
      return [...(bundled[file] ?? []), url];
    });
    expect(loaded.length).toBeGreaterThan(10);
    expect(loaded.filter((name) => /\b(?:bullmq|ioredis)\b/.test(name))).toEqual([]);
  });

  test('G11: of two commands at once one works, the other one hands its run over and has its report', async () => {
    const answers = deferred();
    await using scene = await field({ answers: answers.promise });
    const { home, exportAll, server } = scene;
    const equipment = server.state.describe().equipment.slice(0, 5);
    const list = await home.write('equipment.csv', ['equipment', ...equipment.map((id) => `"${id}"`)].join('\n'));
    const commands = [home.start(exportAll), home.start(['export', 'time-series', '--equipment-file', list, '--json'])];
    await Promise.any(commands.map((command) => command.hears('Another process works the warehouse')));
    answers.resolve();
    const results = await Promise.all(commands.map(({ ended }) => ended));
    for (const { code, stdout, stderr } of results) {
      expect(code, stderr).toBe(0);
      expect(reportOf(stdout).state).toBe('done');
    }
    expect(await stored(home)).toEqual(all);
    expect(await sockets(home)).toEqual([]);
  });

  test('G7: a command that was killed is replaced at once, and its run goes on', async () => {
    await using scene = await field();
    const { home, exportAll } = scene;
    const first = home.start(exportAll);
    await midway(scene);
    first.signal('SIGKILL');
    await first.ended;
    quicken(scene);
    expect(await sockets(home)).toHaveLength(1);
    const next = await home.run([...exportAll, '--skip-if-running']);
    expect(next.code, next.stderr).toBe(0);
    expect(next.stderr).toContain('took the warehouse over');
    // Its death was proven: nobody waited for its beat to grow old.
    expect(next.stderr).not.toContain('Another process works the warehouse');
    expect(await stored(home)).toEqual(all);
    expect(await rowsOf(home, 'SELECT count(*) AS runs FROM run')).toEqual([{ runs: 1 }]);
    expect(await sockets(home)).toEqual([]);
  });

  test('G11: the kind of queue is kept, and changed by a person alone', async () => {
    await using scene = await field({ latencyMs: 0 });
    const { home, exportAll } = scene;
    expect((await home.here(exportAll)).code).toBe(0);
    const redis = { WELLSYNC_REDIS_URL: 'redis://127.0.0.1:1' };
    const refused = await home.here(['queue', 'show'], { env: redis });
    expect(refused.stdout).toMatch(/is worked through an embedded queue, and the configuration says Redis\.\n$/);
    const worker = home.start(['worker']);
    await worker.hears('Working');
    const busy = await home.here(['queue', 'use', 'redis']);
    expect({ code: busy.code, stderr: busy.stderr }).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('is being worked: its queue was not changed') as string,
    });
    worker.signal('SIGTERM');
    await worker.ended;
    const changed = await home.here(['queue', 'use', 'redis']);
    expect(changed.stdout).toContain('is worked through Redis from now on; 0 unfinished runs will go on there.');
    const now = await home.here(exportAll);
    expect(now.code).toBe(2);
    expect(now.stderr).toContain('is worked through Redis, and the configuration says an embedded queue');
    expect(now.stderr).toContain('wellsync queue use embedded');
    expect((await home.here(['queue', 'use', 'embedded'])).code).toBe(0);
    expect((await home.here(exportAll)).code).toBe(0);
  });
});
