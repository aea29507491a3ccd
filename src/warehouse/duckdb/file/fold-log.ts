/** Brings the write-ahead log of a DuckDB file into the file. */
import { statSync } from 'node:fs';
import { OutageError } from '../../../core/base/errors.ts';
import { classified } from './engine-fault.ts';
import { type FileSettings, openFile } from './open-file.ts';

/**
 * Afterwards the file holds all that was committed, and may go without its log. Migrates nothing. Throws OutageError if
 * the disk is full or fails: the log stays then. To be called while no handle of this process is open.
 */
export async function foldLog(settings: FileSettings, signal: AbortSignal): Promise<void> {
  const { path } = settings;
  try {
    const file = await openFile(settings, 'READ_WRITE', signal);
    try {
      await file.connected((connection) => connection.run('CHECKPOINT'));
    } finally {
      file.close();
    }
  } catch (error) {
    throw classified(error, path);
  }
  const bytes = statSync(`${path}.wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return;
  throw new OutageError('warehouse', 'warehouse-io', `the warehouse ${path} cannot be used: its log stays beside it`);
}
