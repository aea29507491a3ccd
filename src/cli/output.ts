/**
 * The output of a command: its result goes to standard output, everything else to standard error.
 *
 *              at a terminal   elsewhere   --quiet
 *   print      shown           shown       shown      what the command was asked for: rows, lists, documents
 *   report     shown           shown       held       what the command did
 *   say        shown           shown       held       remarks
 *   narrate    shown           held        held       what the command is doing
 *   tell       shown           shown       shown      questions and faults
 *
 * What is held is written when the command ends with another exit code than 0, else never: cron mails what went wrong.
 */
import type { Writable } from 'node:stream';
import { WellsyncError } from '../core/base/errors.ts';
import { printableLines } from '../core/base/text.ts';

/** A terminal, a pipe or a file. */
export type Outlet = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** A line that is kept below everything else at a terminal: a progress bar. */
export interface LiveLine {
  clear(): void;
  draw(): void;
}

/** Columns of the terminal; Infinity for a pipe or a file. */
export function columnsOf({ isTTY, columns }: Outlet): number {
  return isTTY === true ? columns || 80 : Number.POSITIVE_INFINITY;
}

/** Standard output is a full disk, or a file or device that fails. */
class OutputError extends WellsyncError {
  override readonly name = 'OutputError';
}

/** Parts that are held at most: a command that remarks for days keeps the last ones. */
const mostHeld = 1_000;

interface HeldPart {
  readonly outlet: 'stdout' | 'stderr';
  readonly text: string;
}

export class Output {
  /** Whether the operator requested one JSON document instead of text. */
  readonly json: boolean;
  /** Whether the operator wants to hear only what went wrong. */
  readonly quiet: boolean;
  /** The stream for progress and remarks. */
  readonly stderr: Outlet;
  readonly #stdout: Outlet;
  readonly #held: HeldPart[] = [];
  readonly #isColourWanted: boolean;
  #live: LiveLine | undefined;
  #paint: (text: string) => string = (text) => text;
  #fold: (text: string, width: number) => string = (text) => text;
  #hasBegun = false;
  #fault: NodeJS.ErrnoException | undefined;

  constructor(streams: {
    readonly stdout: Outlet;
    readonly stderr: Outlet;
    readonly json: boolean;
    readonly quiet: boolean;
    /** False where the operator wants none (NO_COLOR). */
    readonly colour?: boolean;
  }) {
    this.#isColourWanted = streams.colour ?? true;
    this.json = streams.json;
    this.quiet = streams.quiet;
    this.stderr = streams.stderr;
    this.#stdout = streams.stdout;
    this.#stdout.on('error', (error) => (this.#fault ??= error));
    // A failure of standard error cannot be reported anywhere.
    this.stderr.on('error', () => {});
  }

  /** Whether a part of the result was written. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether the reader has closed the stream, as `head` does: the rest need not be produced. */
  get isClosed(): boolean {
    return this.#fault?.code === 'EPIPE';
  }

  /** Why the result could not be written, unless its reader closed the stream. */
  get fault(): OutputError | undefined {
    return this.isClosed || this.#fault === undefined ? undefined : outputError(this.#fault);
  }

  /** Columns of the terminal that shows the result; Infinity for a pipe or a file. */
  get width(): number {
    return columnsOf(this.#stdout);
  }

  /**
   * From now on messages are folded with `fold`, and results at a terminal are coloured with `paint`: help and wrong
   * flags need not load them.
   */
  showWith(fold: (text: string, width: number) => string, paint: (text: string) => string): void {
    this.#fold = fold;
    this.#paint = paint;
  }

  /** From now on every text is written above this line, until it is undefined. */
  keepBelow(line: LiveLine | undefined): void {
    this.#live = line;
  }

  /** Writes a part of the result. Resolves when it is written, so that a slow reader slows the writer down. */
  async write(text: string): Promise<void> {
    if (this.#fault !== undefined) return;
    this.#hasBegun = true;
    if (text !== '') this.#live?.clear();
    await new Promise<void>((resolve) => {
      this.#stdout.write(this.#shown(text), (error) => {
        this.#fault ??= error ?? undefined;
        if (text !== '') this.#live?.draw();
        resolve();
      });
    });
  }

  #shown(text: string): string {
    if (this.#stdout.isTTY !== true) return text;
    return this.#isColourWanted ? this.#paint(printableLines(text)) : printableLines(text);
  }

  /** Resolves when the parts of the result are written, or cannot be: help is written without waiting for it. */
  async flush(): Promise<void> {
    if (this.#hasBegun) await this.write('');
  }

  /** Writes the result as lines of text; with --json as the document, where there is one. */
  print(text: string, document?: unknown): Promise<void> {
    return this.json && document !== undefined ? this.document(document) : this.write(`${printableLines(text)}\n`);
  }

  /** Writes the result as one JSON document on one line. */
  document(value: unknown): Promise<void> {
    return this.write(`${JSON.stringify(value)}\n`);
  }

  /** Writes what the command did, as lines of text; with --json as the document, where there is one. */
  async report(text: string, document?: unknown): Promise<void> {
    if (this.json && document !== undefined) return this.document(document);
    if (this.quiet) return this.#hold('stdout', text);
    // A report names its run: what was narrated before it, and held, says nothing more.
    this.#held.length = 0;
    await this.print(text);
  }

  /** Whether progress is shown: at a terminal alone. */
  get showsProgress(): boolean {
    return this.stderr.isTTY === true && !this.quiet;
  }

  /** Writes a remark to standard error. */
  say(text: string): void {
    if (this.quiet) this.#hold('stderr', text);
    else this.writeError(text);
  }

  /** Writes what the command is doing to standard error, at a terminal. */
  narrate(text: string): void {
    if (this.showsProgress) this.writeError(text);
    else this.#hold('stderr', text);
  }

  /** Writes a question or a fault to standard error. */
  writeError(text: string): void {
    this.#live?.clear();
    // Whatever the text quotes, of a file or of the service: it must not control the terminal.
    this.stderr.write(`${printableLines(this.#fold(text, columnsOf(this.stderr)))}
`);
    this.#live?.draw();
  }

  /** Writes what was held: the command ends with another exit code than 0. */
  async release(): Promise<void> {
    for (const { outlet, text } of this.#held.splice(0)) {
      if (outlet === 'stdout') await this.print(text);
      else this.writeError(text);
    }
  }

  #hold(outlet: HeldPart['outlet'], text: string): void {
    this.#held.push({ outlet, text });
    if (this.#held.length > mostHeld) this.#held.shift();
  }
}

function outputError(cause: NodeJS.ErrnoException): OutputError {
  const reason = cause.code === 'ENOSPC' ? 'the disk is full' : cause.message;
  return new OutputError('output', `the output could not be written: ${reason}`, { cause });
}

// Commands as a person gives them to a shell.

/** One argument, be it for the shell of Windows. */
export function shellWord(text: string): string {
  if (/^[\w./:\\@%+=,-]+$/.test(text) && (process.platform === 'win32' || !text.includes('\\'))) return text;
  return process.platform === 'win32' ? `"${text}"` : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Whoever came by npx, or by a script of npm, has no such command in the PATH. */
export function programWords(): string {
  return process.env['npm_command'] === undefined ? 'wellsync' : 'npx wellsync';
}
