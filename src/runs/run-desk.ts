/** What an operator or a schedule may ask of runs: start, cancel, retry, and revive those that Redis has lost. */
import { randomBytes } from 'node:crypto';
import { UsageError } from '../core/errors.ts';
import { isFinished, type RunRecord } from '../core/run.ts';
import type { RunQueue } from '../queue/port.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { AnyJob } from './job.ts';

export interface RunDesk {
  /** Checks the parameters, writes the run into the warehouse, then queues it. Returns the run's id. Throws UsageError. */
  start(jobName: string, params: unknown): Promise<string>;
  /** Asks a run to stop. Work in flight sees it within a second or two. Returns false when the run has ended already. */
  cancel(runId: string, requestedBy: string): Promise<boolean>;
  /** Opens the failed and cancelled units of a finished run again and queues it. Returns how many. Throws UsageError. */
  retry(runId: string): Promise<number>;
  /** Queues every unfinished run that the queue does not know: after Redis was lost, or a command died halfway (G7). Returns their ids. */
  revive(): Promise<readonly string[]>;
}

export function createRunDesk(parts: {
  readonly warehouse: Warehouse;
  readonly queue: RunQueue;
  readonly jobs: readonly AnyJob[];
  readonly now: () => number;
}): RunDesk {
  const { warehouse, queue, jobs, now } = parts;

  return {
    async start(jobName, params) {
      const job = jobs.find((candidate) => candidate.name === jobName);
      if (job === undefined) throw new UsageError(`there is no job named ${jobName}`);
      const runId = newRunId(now());
      await warehouse.runs.create({ runId, job: jobName, params: job.params.parse(params), requestedAtMs: now() });
      await queue.submit(runId, 0);
      return runId;
    },

    async cancel(runId, requestedBy) {
      const run = await known(runId);
      if (isFinished(run.state)) return false;
      await queue.board.halt(runId, { kind: 'cancel', requestedBy });
      await queue.submit(runId, run.round);
      return true;
    },

    async retry(runId) {
      const { job: jobName } = await known(runId);
      await jobs.find((job) => job.name === jobName)?.checkRetry?.(runId, { warehouse, now });
      const opened = await warehouse.runs.reopen(runId);
      if (opened === 0) return 0;
      const run = await known(runId);
      await queue.board.forget(runId);
      await queue.submit(runId, run.round);
      return opened;
    },

    async revive() {
      const unfinished = await warehouse.runs.list({ limit: 1_000, states: ['queued', 'running'] });
      const revived: string[] = [];
      for (const run of unfinished) {
        if (await queue.isSubmitted(run.runId, run.round)) continue;
        await queue.submit(run.runId, run.round);
        revived.push(run.runId);
      }
      return revived;
    },
  };

  async function known(runId: string): Promise<RunRecord> {
    const run = await warehouse.runs.read(runId);
    if (run === undefined) {
      throw new UsageError(`there is no run ${runId}`, { hint: 'wellsync runs list shows the runs that there are.' });
    }
    return run;
  }
}

/** Sorts by time, reads well, and holds nothing that BullMQ minds: 20261121-093015-k3f9. */
function newRunId(nowMs: number): string {
  const [day, time] = new Date(nowMs).toISOString().slice(0, 19).split('T') as [string, string];
  return `${day.replaceAll('-', '')}-${time.replaceAll(':', '')}-${randomBytes(3).toString('hex')}`;
}
