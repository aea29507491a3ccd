/** An inbox of many files, taken by three workers that are killed again and again. */
import { readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { inboxHome, inboxOf } from '../support/inbox-here.ts';
import { databaseOfTest } from '../support/postgres/database.ts';
import { tenColumns } from '../support/pipes.ts';

const files = Number(process.env['WELLSYNC_TEST_INBOX_FILES'] ?? 24);
/** `postgres` for many files: three processes that pass a file of DuckDB round take two seconds for each. */
const usesPostgres = process.env['WELLSYNC_TEST_INBOX_WAREHOUSE'] === 'postgres';
/** A kill costs up to half a minute, until the claim and the queue item of the dead worker are free. */
const killEvery = Math.max(8, Math.round(files / 12));
const workers = 3;

const row = (id: string): string => `N,${id},2024-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]`;
const counted = (folder: string): Promise<number> =>
  readdir(folder).then(
    (names) => names.length,
    () => 0,
  );

const timeoutMs = 300_000 + files * 3_000;

test(
  'G1, G7: an inbox of many files, taken by three workers that are killed, has each file once',
  async () => {
    await using server = await startTestingServer();
    const database = usesPostgres ? await databaseOfTest() : undefined;
    await using home = await inboxHome(server.url, database?.url);
    const inbox = inboxOf(home, 'network-pipes');
    const start = () => home.start(['worker', '--queues', 'push']);
    const running = Array.from({ length: workers }, start);
    await expect.poll(() => counted(inbox.folder), { timeout: 120_000 }).toBeGreaterThan(2);
    for (let file = 0; file < files; file += 1) {
      const aside = path.join(inbox.folder, '.dropped');
      await writeFile(aside, `${tenColumns}\n${row(`P${file}`)}\n`);
      await rename(aside, path.join(inbox.folder, `${file}.csv`));
    }
    const done = path.join(inbox.folder, 'done');
    let killed = 0;
    for (let next = killEvery; next < files; next += killEvery) {
      await expect.poll(() => counted(done), { timeout: 600_000 }).toBeGreaterThanOrEqual(next);
      const victim = killed % workers;
      running[victim]?.signal('SIGKILL');
      killed += 1;
      running[victim] = start();
    }
    await expect.poll(() => counted(done), { timeout: 600_000 }).toBe(files);
    // The claim of a worker that was killed before it had the file is dropped after a minute.
    await expect.poll(() => counted(path.join(inbox.folder, 'working')), { timeout: 120_000 }).toBe(0);
    for (const worker of running) worker.signal('SIGTERM');
    await Promise.all(running.map(({ ended }) => ended));

    expect(killed).toBeGreaterThan(1);
    const ended = await inbox.ended('done');
    expect(new Set(ended.map(({ names }) => names.join())).size).toBe(files);
    expect(await counted(path.join(inbox.folder, 'failed'))).toBe(0);
    expect(await counted(path.join(inbox.folder, 'working'))).toBe(0);
    expect(server.state.pipes()).toHaveLength(files);
    const runs = ended.map(({ report }) => z.object({ run: z.object({ runId: z.string() }) }).parse(report).run.runId);
    expect(new Set(runs).size).toBe(files);
    const { stdout } = await home.run(['query', 'SELECT count(*) AS runs FROM run', '--json']);
    expect(JSON.parse(stdout)).toEqual([{ runs: files }]);
  },
  timeoutMs,
);
