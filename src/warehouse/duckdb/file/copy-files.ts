/** Copies a DuckDB file with its write-ahead log. */
import { constants, existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';

/**
 * To be called while this process holds the file: nobody writes then. The database goes last: as its copy is closed, the
 * lock of this process ends, which the system ties to any of its handles on a file.
 */
export async function copyFiles(source: string, target: string): Promise<void> {
  if (existsSync(`${source}.wal`)) await copyFile(`${source}.wal`, `${target}.wal`, constants.COPYFILE_EXCL);
  await copyFile(source, target, constants.COPYFILE_EXCL);
}
