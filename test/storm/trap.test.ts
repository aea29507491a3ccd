import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** Takes steps for ever, as the ports of wellsync do, or until its trap has caught it. */
const walker = `
  const point = globalThis[Symbol.for('wellsync.failpoint')];
  let taken = 0;
  const take = () => {
    point('ledger.read', 'before');
    point('transaction.commit', 'after');
    taken += 1;
    if (taken < 500) setTimeout(take, 5);
    else console.log('walked on');
  };
  take();`;

let folder = '';
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'wellsync-trap-'))));
afterEach(() => rm(folder, { recursive: true }));

const loaded = ['--import', path.resolve('test/storm/trap.mjs')];

function started(script: string, env: Readonly<Record<string, string>> = {}) {
  return spawn(process.execPath, [...loaded, '--input-type=module', '-e', script], {
    env: { STORM_TRAP: path.join(folder, 'trap'), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('the trap of a storm', () => {
  it('kills one of the processes that come to the step, and no other', async () => {
    const trap = { step: '^transaction', when: 'after', nth: 3, what: 'kill' };
    await writeFile(path.join(folder, 'trap'), JSON.stringify(trap));
    const beganMs = Date.now();
    const offset = { STORM_CLOCK_OFFSET_MS: '-3600000' };
    const walkers = [started(walker, offset), started(walker, offset)];
    const ends = await Promise.all(walkers.map(async (each) => (await once(each, 'close')) as [number | null, string]));
    expect(ends.map(([code, signal]) => signal ?? code).toSorted()).toEqual([0, 'SIGKILL']);
    const sprung = JSON.parse(await readFile(path.join(folder, 'trap.log'), 'utf8')) as { readonly atMs: number };
    expect(sprung).toMatchObject({ step: 'transaction.commit', when: 'after', what: 'kill' });
    expect(sprung.atMs).toBeGreaterThan(beganMs);
    expect(sprung.atMs).toBeLessThan(Date.now() + 1);
    expect(existsSync(path.join(folder, 'trap'))).toBe(false);
  });

  it('lets pass who comes to another step', async () => {
    await writeFile(path.join(folder, 'trap'), JSON.stringify({ step: '^queue', when: 'after', nth: 1, what: 'kill' }));
    const [code] = (await once(started(walker.replace('500', '60')), 'close')) as [number | null];
    expect(code).toBe(0);
  });

  it('moves the clock of a process, and leaves given times alone', async () => {
    const script = `
      const away = [Date.now(), new Date().getTime(), Date.parse(Date())].map((each) => each - performance.timeOrigin);
      const kept = [new Date(5).getTime(), new Date('2026-01-01T00:00:00Z').toISOString(), new Date() instanceof Date];
      console.log(JSON.stringify({ away, kept }));`;
    const { stdout } = await promisify(execFile)(process.execPath, [...loaded, '--input-type=module', '-e', script], {
      env: { STORM_CLOCK_OFFSET_MS: '-3600000' },
    });
    const { away, kept } = JSON.parse(stdout) as { away: readonly number[]; kept: readonly unknown[] };
    expect(away.every((each) => each < -3_500_000 && each > -3_700_000)).toBe(true);
    expect(kept).toEqual([5, '2026-01-01T00:00:00.000Z', true]);
  });
});
