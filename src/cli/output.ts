/** Owns what a command says: its result goes to standard output, everything else to standard error. */
import type { Writable } from 'node:stream';

/** A terminal, a pipe or a file. */
export type Outlet = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Of the terminal; Infinity where it goes to a pipe or a file. */
export function columnsOf({ isTTY, columns }: Outlet): number {
  return isTTY === true ? (columns ?? 80) : Number.POSITIVE_INFINITY;
}

export class Output {
  /** The operator asked for one JSON document instead of text. */
  readonly json: boolean;
  /** Where progress and remarks go. */
  readonly stderr: Outlet;
  readonly #stdout: Outlet;
  #hasBegun = false;
  #fault: NodeJS.ErrnoException | undefined;

  constructor(streams: { readonly stdout: Outlet; readonly stderr: Outlet; readonly json: boolean }) {
    this.json = streams.json;
    this.stderr = streams.stderr;
    this.#stdout = streams.stdout;
    this.#stdout.on('error', (error) => (this.#fault ??= error));
    // Nobody is left to be told that standard error cannot be written.
    this.stderr.on('error', () => {});
  }

  /** Whether a part of the result is out already. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The reader has gone, as `head` does: the rest need not be made. */
  get isClosed(): boolean {
    return this.#fault?.code === 'EPIPE';
  }

  /** Why the result could not be written, unless its reader just went away. */
  get fault(): Error | undefined {
    return this.isClosed ? undefined : this.#fault;
  }

  /** The columns of the terminal that shows the result; Infinity where it goes to a pipe or a file. */
  get width(): number {
    return columnsOf(this.#stdout);
  }

  /** A part of the result. Resolves when it is out, so that a slow reader holds the writer back. */
  async write(text: string): Promise<void> {
    if (this.#fault !== undefined) return;
    this.#hasBegun = true;
    await new Promise<void>((resolve) => this.#stdout.write(text, () => resolve()));
  }

  /** The result as lines of text. */
  print(text: string): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** The result as one JSON document on one line. */
  document(value: unknown): Promise<void> {
    return this.write(`${JSON.stringify(value)}\n`);
  }

  /** A remark on the way, on standard error. */
  say(text: string): void {
    this.stderr.write(`${text}\n`);
  }
}
