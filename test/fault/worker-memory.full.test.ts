/** The memory of a worker's processes, measured by the kernel while they work. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { cliHome } from '../support/cli.ts';
import { peakMegabytes, processTree } from '../support/process-tree.ts';

const hasProc = existsSync('/proc/self/status');
const field = { seed: 7, wells: 200, fromDay: '2020-01-01', toDay: '2025-01-01' };

test.for([
  { memoryMb: 384, queue: 'embedded' },
  { memoryMb: 512, queue: 'redis' },
] as const)(
  'G8: the processes of a worker with worker.memoryMb $memoryMb (queue: $queue) stay below it, and end an export of 200 wells and 5 years',
  async ({ memoryMb, queue }, { skip }) => {
    skip(!hasProc, 'this system has no /proc to measure by');
    const data = generatedDaily(field);
    await using server = await startTestingServer({ port: 0, data });
    await using home = await cliHome(server.url, { queue });
    const env = { WELLSYNC_WORKER_MEMORY_MB: String(memoryMb) };
    const wells = await home.write('wells.csv', ['uwi', ...data.uwis.map((uwi) => `"${uwi}"`)].join('\n'));
    const worker = home.start(['worker'], { env });
    await worker.hears('Ctrl-C stops');
    expect(processTree(worker.pid)).toHaveLength(2);
    const { code, stdout } = await home.run(['export', 'daily-production', '--wells', wells, '--wait', '--json']);
    const peakMb = peakMegabytes(worker.pid);
    worker.signal('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    expect({ code, state: (JSON.parse(stdout) as { state: string }).state }).toEqual({ code: 0, state: 'done' });
    console.log(`worker.memoryMb ${memoryMb}: ${peakMb.toFixed(0)} MB at the most`);
    expect(peakMb).toBeGreaterThan(100);
    expect(peakMb).toBeLessThan(memoryMb);
  },
);
