/** The rejects of a push: where they lie, and their bytes. */
import { UsageError } from '../../core/base/errors.ts';
import type { RunRecord } from '../../core/run/run.ts';
import type { App } from '../app.ts';

export interface RunRejects {
  /** Absolute path of the file, or its address among shared files. There is none if nothing was rejected. */
  readonly location: string;
  readonly isShared: boolean;
  /** 0 if nothing was rejected. */
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
}

/**
 * Throws UsageError for a run that is not a push, BlockedError where its rejects lie in a place that this host has not,
 * UnreachableError where that cannot be reached.
 */
export async function rejectsOfRun(
  { runId, job: name, params }: RunRecord,
  { jobs, pipeFiles }: App,
): Promise<RunRejects> {
  const location = jobs.find((job) => job.name === name)?.rejectsLocation?.(params, runId);
  if (location === undefined) {
    throw new UsageError(`run ${runId} is no push: it has no rejects`, {
      hint: 'Its report tells what became of its records.',
      action: { kind: 'show-run', runId },
    });
  }
  const log = await pipeFiles.rejects(location);
  return { location: log.location, isShared: 'shared' in location, bytes: await log.size(), read: () => log.read() };
}
