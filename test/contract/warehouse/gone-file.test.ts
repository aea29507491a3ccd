/** A warehouse whose file is taken away while a process uses it. */
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WarehouseGoneError } from '../../../src/core/base/errors.ts';
import { exitCodeOfError } from '../../../src/core/run/exit-code.ts';
import { type DatabaseFile, shareDatabaseFile } from '../../../src/warehouse/duckdb/file/database-file.ts';

describe('a warehouse file that is taken away', () => {
  let folder: string;
  let file: DatabaseFile;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-gone-'));
    file = shareDatabaseFile({ path: path.join(folder, 'w.duckdb'), now: Date.now });
    await file.transact((connection) => connection.run('CREATE TABLE kept (i INTEGER)'));
  });
  afterEach(async () => {
    await file.release();
    await rm(folder, { recursive: true });
  });

  const insert = (): Promise<unknown> =>
    file
      .transact((connection) => connection.run('INSERT INTO kept VALUES (1)'))
      .then(
        () => 'committed',
        (error: unknown) => error,
      );

  async function takeAway(): Promise<void> {
    for (const end of ['', '.wal']) await rm(`${file.path}${end}`, { force: true });
  }

  it('G3: is never made anew, and ends the process that works it with exit code 5', async () => {
    const lost: Error[] = [];
    file.fence(0, (error) => lost.push(error));
    await takeAway();
    for (const _ of [1, 2]) {
      const fault = await insert();
      expect(fault).toBeInstanceOf(WarehouseGoneError);
      expect(exitCodeOfError(fault)).toBe(5);
    }
    expect(existsSync(file.path)).toBe(false);
    expect(lost[0]).toBeInstanceOf(WarehouseGoneError);
  });

  it('G3: during a transaction acknowledges nothing that went into the removed file', async () => {
    const fault = await file
      .transact(async (connection) => {
        await connection.run('INSERT INTO kept VALUES (1)');
        await takeAway();
      })
      .catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(WarehouseGoneError);
    expect(existsSync(file.path)).toBe(false);
  });

  it('G3: and replaced by another one is not written to', async () => {
    // The checkpoint at the end of the session leaves one file.
    await file.read(async () => undefined);
    const copy = `${file.path}.copy`;
    await copyFile(file.path, copy);
    await rename(copy, file.path);
    expect(await insert()).toBeInstanceOf(WarehouseGoneError);
  });
});
