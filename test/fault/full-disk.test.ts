/** Disks that are full while a run writes, in the engine's own words (DuckDB's and those of the system). */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName } from '../../jobs/daily-production/job.ts';
import { OutageError } from '../../src/core/base/errors.ts';
import { RejectsFile } from '../../src/pipes/rejects-file.ts';
import { readPipes } from '../../src/pipes/read-pipes.ts';
import type { PipeHeader } from '../../src/pipes/header.ts';
import { anyJob } from '../../src/runs/job.ts';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { shareDatabaseFile } from '../../src/warehouse/duckdb/file/database-file.ts';
import type { DuckdbSession } from '../../src/warehouse/duckdb/file/session.ts';
import { engineHere } from '../support/engine-here.ts';
import { dailyProductionSettings } from '../support/export-settings.ts';
import { smallDisk, smallDiskLack } from '../support/small-disk.ts';
import { januaryRows, UWI } from '../support/testing-server-requests.ts';

const lack = smallDiskLack();
const jobs = createDailyProductionJobs(dailyProductionSettings).map(anyJob);
const patiently = { timeout: 60_000, interval: 100 };

/** A log that collects its lines. */
function collectingLog() {
  const lines: string[] = [];
  return { lines, log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }) };
}

describe.skipIf(lack !== undefined)(`a full disk${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  it('G7: of the warehouse holds a run, which goes on and is done when there is room', async () => {
    using disk = smallDisk(24);
    const { lines, log } = collectingLog();
    const rows = januaryRows(300);
    let isFilled = false;
    const onRequest = (): undefined => {
      if (!isFilled) disk.fill();
      isFilled = true;
    };
    await using server = await startTestingServer({ data: givenDaily(rows), onRequest });
    await using engine = await engineHere(server.url, jobs, { disk: disk.folder, log });
    const run = await engine.start(dailyProductionJobName, { nowMs: Date.now(), allowShrink: false }, [UWI]);
    await vi.waitFor(() => expect(lines.join('')).toContain('work waits for the warehouse'), patiently);
    expect(lines.join('')).toContain('its disk is full');
    disk.empty();
    expect(await engine.reportOf(run)).toMatchObject({ state: 'done', counts: { inserted: 300 } });
    expect(lines.join('')).not.toMatch(/"level":"error"|is a fault|stack/);
  });

  it('G7: where a new warehouse is to be made is no fault of wellsync, and passes', async () => {
    using disk = smallDisk(8);
    const warehouse = createDuckdbWarehouse({ path: path.join(disk.folder, 'w.duckdb'), now: Date.now });
    disk.fill();
    const fault: unknown = await warehouse.check().catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(OutageError);
    expect(String(fault)).toContain('its disk is full');
    disk.empty();
    expect(await warehouse.check()).toMatchObject({ dailyProductionRows: 0 });
    await warehouse.close();
  });

  it('G7: where what the memory does not hold is put aside is no lack of memory, and passes', async () => {
    using disk = smallDisk(96);
    const file = shareDatabaseFile({ path: path.join(disk.folder, 'w.duckdb'), memoryLimitMb: 16, now: Date.now });
    const sorted = (session: DuckdbSession) =>
      session.run('SELECT count(*) FROM (SELECT hash(i) AS h FROM range(2_000_000) r(i) ORDER BY h DESC OFFSET 1)');
    try {
      await file.transact((session) => session.run('CREATE TABLE t AS SELECT 1 AS c'));
      disk.fill();
      const fault: unknown = await file.transact(sorted).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(OutageError);
      expect(String(fault)).toContain('cannot put aside what its memory does not hold');
      disk.empty();
      await file.transact(sorted);
    } finally {
      await file.release();
    }
  });

  it('G2: of the rejects file loses no rejected row and writes none twice', async () => {
    using disk = smallDisk(1);
    const file = path.join(disk.folder, 'rejects.csv');
    const header = await anyHeader(path.join(disk.folder, 'pipes.csv'));
    const reject = (line: number) => ({ line, column: '', reason: 'why'.repeat(2_000), raw: `n,p${line}` });
    const first = await RejectsFile.open(file, 0);
    const bytes = await first.append([reject(2)], header);
    disk.fill();
    const many = Array.from({ length: 20 }, (_, place) => reject(place + 3));
    const fault: unknown = await first.append(many, header).catch((error: unknown) => error);
    await first[Symbol.asyncDispose]();
    expect(fault).toMatchObject({ part: 'disk', message: expect.stringContaining('the disk is full') as string });
    disk.empty();
    await using again = await RejectsFile.open(file, bytes);
    await again.append(many, header);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n').slice(1);
    expect(lines.map((line) => Number(line.split(',')[0]))).toEqual(
      Array.from({ length: 21 }, (_, place) => place + 2),
    );
  });
});

async function anyHeader(file: string): Promise<PipeHeader> {
  const { writeFile } = await import('node:fs/promises');
  await writeFile(file, 'sourceNetworkId,sourceId\nn,p\n');
  for await (const { header } of readPipes({ path: file })) return header;
  throw new Error('no header');
}
