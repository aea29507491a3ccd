/** The rejects file of a push: its path and its size. */
import { stat } from 'node:fs/promises';
import { UsageError } from '../../core/base/errors.ts';
import type { RunRecord } from '../../core/run/run.ts';
import type { App } from '../app.ts';

export interface RunRejects {
  /** Absolute path. The file does not exist if nothing was rejected. */
  readonly file: string;
  /** 0 if the file does not exist. */
  readonly bytes: number;
}

/** Throws UsageError for a run that is not a push. */
export async function rejectsOfRun({ runId, job: name, params }: RunRecord, { jobs }: App): Promise<RunRejects> {
  const file = jobs.find((job) => job.name === name)?.rejectsFile?.(params, runId);
  if (file !== undefined) return { file, bytes: await sizeOf(file) };
  throw new UsageError(`run ${runId} is no push: it has no rejects`, {
    hint: `wellsync runs show ${runId} tells what became of its records.`,
  });
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
