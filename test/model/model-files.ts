/** Files of pipes and rejects in memory, for all processes of a world: a reject may be left half written. */
import { Readable } from 'node:stream';
import { createPipeFiles, type PipeFiles } from '../../src/pipes/pipe-files.ts';
import { type PipeBatch, readPipes } from '../../src/pipes/read-pipes.ts';
import type { ByteLog } from '../../src/pipes/rejects-file.ts';
import type { ModelFile } from './pipe-texts.ts';
import type { During } from './world.ts';

/** Entries of a batch: a process can be killed between two. */
const batchEntries = 4;

export class ModelFiles {
  readonly #files: readonly ModelFile[];
  /** By run; a file that was replaced is written by those alone who had it open. */
  readonly #rejects = new Map<string, { bytes: Buffer }>();

  constructor(files: readonly ModelFile[]) {
    this.#files = files;
  }

  rejectsOf(runId: string): string {
    return this.#bytesOf(runId).toString('utf8');
  }

  /** The port of a process. */
  port(during: During): PipeFiles {
    const shared = {
      requireFile: () => during('files.requireFile', async () => undefined),
      fetch: () => Promise.reject(new Error('the files of a model are opened here')),
      rejects: async (_: unknown, runId: string) => this.#log(runId, during),
    };
    return {
      ...createPipeFiles(shared),
      open: async ({ file, identity }) => ({ file, identity, [Symbol.asyncDispose]: async () => undefined }),
      read: (name, options) => this.#read(name, options, during),
      assertSame: (_, identity) => during('files.assertSame', async () => identity),
    };
  }

  async *#read(name: string, options: Parameters<PipeFiles['read']>[1], during: During) {
    const text = this.#files.find((file) => file.name === name)?.text ?? '';
    const batches = await during('files.read', async () => {
      const source = { stream: Readable.from([Buffer.from(text)]), name };
      const read: PipeBatch[] = [];
      for await (const batch of readPipes(source, options)) read.push(batch);
      return read;
    });
    for (const { entries, ...rest } of batches) {
      for (let from = 0; from === 0 || from < entries.length; from += batchEntries) {
        const some: PipeBatch = { ...rest, entries: entries.slice(from, from + batchEntries) };
        yield await during('files.read on', async () => some);
      }
    }
  }

  #log(runId: string, during: During): ByteLog {
    const replace = (bytes: Buffer): void => void this.#rejects.set(runId, { bytes });
    return {
      location: `rejects of ${runId}`,
      size: async () => this.#bytesOf(runId).length,
      cutTo: (bytes) =>
        during('rejects.cutTo', async () => {
          replace(this.#bytesOf(runId).subarray(0, bytes));
          return this.#bytesOf(runId).length;
        }),
      append: async (bytes, at) => {
        const file = this.#rejects.get(runId) ?? { bytes: Buffer.alloc(0) };
        const before = file.bytes.length;
        if (before !== at) return before;
        this.#rejects.set(runId, file);
        const add = async (some: Uint8Array): Promise<void> => void (file.bytes = Buffer.concat([file.bytes, some]));
        const half = Math.ceil(bytes.length / 2);
        await during('rejects.append', () => add(bytes.subarray(0, half)));
        await during('rejects.append on', () => add(bytes.subarray(half)));
        return before;
      },
      read: () => Readable.from([this.#bytesOf(runId)]),
      close: async () => undefined,
    };
  }

  #bytesOf(runId: string): Buffer {
    return this.#rejects.get(runId)?.bytes ?? Buffer.alloc(0);
  }
}
