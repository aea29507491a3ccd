/** Checks that the children of a script cannot outlive it, however the script ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';

const leash = pathToFileURL(path.resolve('scripts/setup/leash.mjs')).href;

/** A process that connects to `port` and runs until it is ended; the connection closes with it. */
function livingOn(port: number): string {
  return `require('node:net').connect(${port}, '127.0.0.1')`;
}

/** A script that starts such a process on the leash, and runs `onWord` at the first line on its standard input. */
function scriptWith(port: number, onWord: string): string {
  return `
    import { startLeashed } from '${leash}';
    const child = startLeashed(process.execPath, ['-e', ${JSON.stringify(livingOn(port))}]);
    process.stdin.once('data', async () => { ${onWord} });
  `;
}

/** Resolves when the process of the script has connected; `gone` resolves when it has ended. */
async function startScript({ onWord = '' }: { readonly onWord?: string } = {}) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const { port } = server.address() as { readonly port: number };
  const script = spawn(process.execPath, ['--input-type=module', '-e', scriptWith(port, onWord)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(script, 'exit');
  const [socket] = (await connected) as [Socket];
  // A killed process may reset its connection.
  const gone = new Promise<void>((resolve) =>
    socket
      .on('close', () => resolve())
      .on('error', () => {})
      .resume(),
  );
  return { script, ended, gone, [Symbol.dispose]: () => server.close() };
}

describe('a leashed child', () => {
  test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('is gone after %s of the script', async (signal) => {
    using started = await startScript();
    started.script.kill(signal);
    await started.gone;
    expect(await started.ended).toEqual([null, signal]);
  });

  test('is gone after an error of the script', async () => {
    using started = await startScript({ onWord: "throw new Error('a fault');" });
    started.script.stdin.write('now');
    await started.gone;
    expect(await started.ended).toEqual([1, null]);
  });

  test('is gone when the script ends it, and its exit code says by what', async () => {
    using started = await startScript({ onWord: 'process.exit(await child.end());' });
    started.script.stdin.write('now');
    await started.gone;
    expect(await started.ended).toEqual([143, null]);
  });
});
