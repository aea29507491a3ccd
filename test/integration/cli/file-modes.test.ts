/** Who may read what wellsync writes: its owner, whatever umask it was started under. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

test('warehouse, beat, rejects and their folders are for their owner alone', async () => {
  const outside = await mkdtemp(path.join(tmpdir(), 'wellsync-modes-'));
  const before = process.umask(0o022);
  try {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const data = path.join(outside, 'data');
    const env = { WELLSYNC_DATA_DIR: data };
    const worker = home.start(['worker'], { env });
    await worker.hears('Working');
    const stdin = 'sourceNetworkId,sourceId,length\nN,A,1\nN,B,x\n';
    expect((await home.run(['push', 'network-pipes', '-', '--wait'], { env, stdin })).code).toBe(3);
    expect((await home.run(['export', 'daily-production', '--uwi', UWI, '--wait'], { env })).code).toBe(0);
    const found = await readdir(data, { recursive: true, withFileTypes: true });
    const names = found.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['warehouse.duckdb', 'warehouse.duckdb.beat', 'rejects']));
    for (const entry of found) {
      const { mode } = await stat(path.join(entry.parentPath, entry.name));
      expect([entry.name, mode & 0o077]).toEqual([entry.name, 0]);
    }
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    worker.signal('SIGTERM');
    await worker.ended;
  } finally {
    process.umask(before);
    await rm(outside, { recursive: true });
  }
});
