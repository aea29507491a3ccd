/** DuckDB's words, as seen with 1.5.6. */
import { describe, expect, it } from 'vitest';
import { classified } from '../../../src/warehouse/duckdb/file/engine.ts';

describe('an error of the engine', () => {
  it.each([
    [
      'TransactionContext Error: Failed to commit: Could not write file "w.wal": No space left on device',
      'its disk is full',
    ],
    ['IO Error: Could not write file "w": Disk quota exceeded', 'its disk quota is used up'],
    ['FATAL Error: Failed to create checkpoint: Could not fsync file "w": Input/output error', 'an input/output error'],
    ['IO Error: Cannot open file "w": Read-only file system', 'its file system is read-only'],
    [
      "Out of Memory Error: failed to offload data block of size 256.0 KiB (0 bytes/0 bytes used).\nThis limit was set by the 'max_temp_directory_size' setting.",
      'cannot put aside what its memory does not hold',
    ],
  ])('%s is an outage', (message, state) => {
    expect(classified(new Error(message), 'w.duckdb')).toMatchObject({
      part: 'warehouse',
      code: 'warehouse-io',
      message: expect.stringContaining(state) as string,
    });
  });

  it('of a statement stays what it is', () => {
    const bug = new Error('Binder Error: Referenced column "x" not found');
    expect(classified(bug, 'w.duckdb')).toBe(bug);
  });
});
