import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryAtOnce } from '../../../../src/cli/process/limited-process.ts';

describe('the memory of a command, without its configuration', () => {
  let folder: string;
  let files = 0;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wellsync-memory-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function config(text: string): Promise<string> {
    const file = path.join(folder, `${(files += 1)}.yaml`);
    await writeFile(file, text);
    return file;
  }

  test('is that of the environment, or the default where no file can set it', async () => {
    const file = await config('# worker: { memoryMb: 900 }\nqueue: { prefix: night }\n');
    const words = ['--config', file, 'export', 'daily-production', '--inline'];
    expect(memoryAtOnce(words, {})).toBe(512);
    expect(memoryAtOnce(['worker'], { WELLSYNC_CONFIG: file })).toBe(512);
    expect(memoryAtOnce(words, { WELLSYNC_WORKER_MEMORY_MB: '768' })).toBe(768);
  });

  test.each([
    'worker: { memoryMb: 900 }',
    'worker:\n  memoryMb: 900 # more',
    '"worker": { "memory\\x4db": 900 }',
    '{worker: {"memoryMb": 900}}',
  ])('G8: is left to the configuration where the file says: %s', async (text) => {
    const file = await config(text);
    expect(memoryAtOnce(['worker', '--config', file], {})).toBeUndefined();
    expect(memoryAtOnce(['worker', `--config=${file}`], {})).toBeUndefined();
    expect(memoryAtOnce(['worker'], { WELLSYNC_CONFIG: file })).toBeUndefined();
  });

  test.each(['12', '383', 'many', '-512', '5e2'])(
    'is left to the configuration, which refuses it, where the environment says %s',
    (given) => {
      expect(memoryAtOnce(['worker'], { WELLSYNC_WORKER_MEMORY_MB: given })).toBeUndefined();
    },
  );

  test('is that of a command that starts a run, where no Redis is named: it works the run itself', async () => {
    const words = ['export', 'daily-production'];
    expect(memoryAtOnce(words, {})).toBe(512);
    expect(memoryAtOnce(words, { WELLSYNC_REDIS_URL: 'redis://r' })).toBeUndefined();
    expect(memoryAtOnce([...words, '--redis-url', 'redis://r'], {})).toBeUndefined();
    const [with_, without] = [await config('redis: { url: redis://r }'), await config('# redis:\nlogLevel: info')];
    expect(memoryAtOnce([...words, '--config', with_], {})).toBeUndefined();
    expect(memoryAtOnce([...words, '--config', without], {})).toBe(512);
  });

  test.each([
    ['runs', 'list'],
    ['worker', '--help'],
    ['export', 'daily-production', '--inline', '-h'],
    ['query', '--', '--inline'],
    ['worker', '--config', '/no/such/file'],
  ])('is not looked for, or not found, for: wellsync %s %s', (...words) => {
    expect(memoryAtOnce(words, {})).toBeUndefined();
  });
});
