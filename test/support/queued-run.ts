/** A run that waits for a worker, through either queue. */
import { expect } from 'vitest';
import { z } from 'zod';
import type { QueueKind } from '../../src/core/run/warehouse-queue.ts';
import type { CliHome } from './cli.ts';

/**
 * The id of the run that a command requests. Without Redis the command works its run by itself: it is killed once the run is
 * in the ledger.
 */
export async function queuedRun(home: CliHome, queue: QueueKind, args: readonly string[]): Promise<string> {
  if (queue === 'redis') {
    const { stdout, stderr } = await home.run([...args, '--json']);
    expect(stdout, stderr).not.toBe('');
    return z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId;
  }
  const command = home.start([...args, '--json']);
  const newest = `SELECT run_id AS "runId" FROM run WHERE state IN ('queued', 'running') ORDER BY run_id DESC LIMIT 1`;
  let runId: string | undefined;
  await expect
    .poll(
      async () => {
        const { stdout } = await home.here(['query', newest, '--json']);
        runId = z.array(z.object({ runId: z.string() })).parse(JSON.parse(stdout || '[]'))[0]?.runId;
        return runId;
      },
      { timeout: 60_000, interval: 20 },
    )
    .toBeDefined();
  command.signal('SIGKILL');
  await command.ended;
  return runId ?? '';
}
