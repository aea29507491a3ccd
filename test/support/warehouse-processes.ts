/** Other processes that use a warehouse file: a writer of wellsync's, one that puts it in order, and a notebook. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Rows in one commit of the writer. */
export const rowsPerBatch = 500;

export interface OtherProcess extends AsyncDisposable {
  readonly pid: number;
  /** Its next line on standard output; rejects with its standard error if it ends before. */
  line(): Promise<string>;
  kill(): Promise<void>;
  /** Its exit code. */
  ended(): Promise<number | null>;
}

/** A process that commits to a well of its own; if `batches` is 0, until it is killed. */
export function startWriter(path: string, uwi: string, batches: number): OtherProcess {
  return start(['test/support/warehouse-writer.mjs', path, uwi, String(batches)]);
}

/** A process that puts the warehouse in order, and tells of each step. */
export function startOptimizer(path: string): OtherProcess {
  return start(['test/support/warehouse-optimizer.mjs', path]);
}

/** A process that opens the file as soon as it can, and holds it until it is killed. */
export async function startHolder(path: string): Promise<OtherProcess> {
  const script = `import { DuckDBInstance } from '@duckdb/node-api';
    const open = () => DuckDBInstance.create(process.argv[1]).catch((error) => {
      if (/lock/.test(error.message)) return open();
      throw error;
    });
    globalThis.held = await open();
    console.log('held');
    setInterval(() => globalThis.held, 1000);`;
  const holder = start(['--input-type=module', '--eval', script, path]);
  await holder.line();
  return holder;
}

function start(args: readonly string[]): OtherProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += String(text)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = once(child, 'close');

  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }

  return {
    pid: pidOf(child),
    async line() {
      const next = await lines.next();
      if (next.done === true) throw new Error(`the process ended: ${complaint}`);
      return next.value;
    },
    kill,
    async ended() {
      await exited;
      if (complaint !== '') throw new Error(complaint);
      return child.exitCode;
    },
    [Symbol.asyncDispose]: kill,
  };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the process did not start');
  return pid;
}
