/** The process of a worker's work: its limits, and that it appears as one with its parent. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { isAlive, processTree } from '../../support/process-tree.ts';
import { startAtTerminal, terminalLack } from '../../support/terminal.ts';

const program = path.resolve('test/support/limited-program.mjs');

/** The program in a process group of its own, as a shell would start it. */
function start(act: string) {
  const running = spawn(process.execPath, [program, act], { detached: true });
  const pid = running.pid ?? 0;
  const ended = Promise.all([text(running.stdout), text(running.stderr), once(running, 'close')]).then(
    ([stdout, stderr, [code, signal]]) => ({ stdout, stderr, code: code as number | null, signal: signal as string }),
  );
  const endedEarly = ended.then(({ stderr }) => Promise.reject(new Error(`it ended before it was ready: ${stderr}`)));
  endedEarly.catch(() => undefined);
  const heard = Promise.race([once(running.stdout, 'data'), endedEarly]);
  heard.catch(() => undefined);
  const ready = heard.then(() => childOf(pid));
  ready.catch(() => undefined);
  return { pid, stdin: running.stdin, stdout: running.stdout, ended, ready };
}

function childOf(pid: number): number {
  const [child = 0, parent] = processTree(pid);
  expect(parent, 'one child, and its parent').toBe(pid);
  return child;
}

/** V8's tag of the code that it takes, in a child of this process with these arguments of node. */
async function tagOf(args: readonly string[]): Promise<number> {
  const env = { ...process.env, WELLSYNC_PARENT_PID: String(process.pid) };
  const asked = spawn(process.execPath, [...args, '-p', 'v8.cachedDataVersionTag()'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  return Number(await text(asked.stdout as Readable));
}

/** The child of a process, as soon as it exists. */
async function startedChild(pid: number): Promise<number> {
  for (;;) {
    const [child, parent] = processTree(pid);
    if (child !== undefined && parent !== undefined) return child;
    await delay(1);
  }
}

describe('a process with limits of memory', () => {
  test('G8: has the limits, and takes and gives streams and exit code as its parent', async () => {
    const { stdin, ended } = start('echo');
    stdin.end('words');
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 3, stderr: 'to standard error\n' });
    const said = JSON.parse(stdout) as { heapMb: number };
    expect(said).toMatchObject({ arenas: '2', parent: null, isTTY: false, input: 'WORDS' });
    expect(said.heapMb).toBeLessThan(64);
  });

  test('takes code that a process without limits has compiled, such as Node its own', async () => {
    const plain = await tagOf([]);
    const { stdin, ended } = start('echo');
    stdin.end('');
    expect(JSON.parse((await ended).stdout)).toMatchObject({ codeTag: plain });
    // And as it is bundled.
    const limits = ['--max-semi-space-size=4', '--initial-old-space-size=40'];
    expect(await tagOf(limits)).not.toBe(plain);
    expect(await tagOf([...limits, `--require=${path.resolve('dist/program/parent-watch.cjs')}`])).toBe(plain);
  });

  test.each([
    ['SIGTERM to the parent', (pid: number) => process.kill(pid, 'SIGTERM')],
    ['SIGINT to the parent', (pid: number) => process.kill(pid, 'SIGINT')],
    ['SIGHUP to the process group, as by a closed terminal', (pid: number) => process.kill(-pid, 'SIGHUP')],
    ['SIGINT to the process group, as by Ctrl-C', (pid: number) => process.kill(-pid, 'SIGINT')],
    ['SIGTERM to the process group', (pid: number) => process.kill(-pid, 'SIGTERM')],
  ])('stops once for %s', async (_, send) => {
    const { pid, ready, ended } = start('stop');
    await ready;
    send(pid);
    expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/stopping\nstopped\n$/) as string });
  });

  test.each([
    ['the parent', (pid: number) => process.kill(pid, 'SIGINT')],
    ['the process group', (pid: number) => process.kill(-pid, 'SIGINT')],
  ])('ends at once for a second SIGINT to %s', async (_, send) => {
    const { pid, stdout: shown, ready, ended } = start('linger');
    await ready;
    const isStopping = once(shown, 'data');
    send(pid);
    await isStopping;
    send(pid);
    const { code, stdout, stderr } = await ended;
    expect({ code, isStopped: stdout.includes('stopped') }).toEqual({ code: 4, isStopped: false });
    expect(stderr).toBe('wellsync: stopped at once.\n');
  });

  test('ends by the signal that ended it', async () => {
    const { pid, ready, ended } = start('wait');
    const child = await ready;
    process.kill(pid, 'SIGTERM');
    expect(await ended).toMatchObject({ code: null, signal: 'SIGTERM' });
    expect(isAlive(child)).toBe(false);
  });

  test('G7: leaves no process behind when its parent is killed', async () => {
    const { pid, ready, ended } = start('stop');
    const child = await ready;
    process.kill(pid, 'SIGKILL');
    await ended;
    await expect.poll(() => isAlive(child)).toBe(false);
  });

  test.each([0, 20, 40, 80])(
    'G7: does no work when its parent is killed %i ms after it started it',
    async (delayMs) => {
      // Not the echo: its standard input ends with the parent, and it may print in the moment before its own end.
      const { pid, ended } = start('late');
      const child = await startedChild(pid);
      await delay(delayMs);
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => isAlive(child)).toBe(false);
      expect(await ended).toMatchObject({ stdout: '', stderr: '', signal: 'SIGKILL' });
    },
  );

  test('G7: leaves no worker behind when its parent is killed before the worker is ready', async () => {
    await using home = await cliHome();
    const worker = home.start(['worker']);
    const child = await startedChild(worker.pid);
    process.kill(worker.pid, 'SIGKILL');
    await expect.poll(() => isAlive(child)).toBe(false);
    expect(await worker.ended).toMatchObject({ code: null, stdout: '', stderr: '' });
  });

  test('G7: reports that it was killed, with what to do', async () => {
    const { ready, ended } = start('wait');
    process.kill(await ready, 'SIGKILL');
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain('the process that did the work is gone: SIGKILL ended it');
    expect(stderr).toContain('worker.memoryMb');
  });

  test('G8: reports that its memory was not enough, with the setting to raise', async () => {
    const { ended } = start('exhaust');
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain('it needed more memory than its limit\nNothing that was done is lost');
    expect(stderr).toContain('Raise worker.memoryMb (now 384)');
  });

  test('starts another run of the program, which has limits of its own', async () => {
    const { stdin, ended } = start('nested');
    stdin.end('');
    const { heapMb } = JSON.parse((await ended).stdout) as { heapMb: number };
    expect(heapMb).toBeLessThan(64);
  });

  test('is at the terminal of its parent, and Ctrl-C there stops it once', async ({ skip }) => {
    const lack = terminalLack();
    skip(lack !== undefined, lack);
    const shown = startAtTerminal(`${process.execPath} ${program} echo < /dev/null`);
    expect(await shown.ended()).toContain('"isTTY":true,"columns":97');

    const stopped = startAtTerminal(`${process.execPath} ${program} stop`);
    await stopped.shows(/^ready \d+\n/m);
    stopped.type('\u0003');
    expect(await stopped.ended()).toMatch(/^ready \d+\nstopping\nstopped\nended 0\n$/);
  });
});
