/**
 * A push of a file of pipes to two services at once, of which one keeps a row for each pipe and the other one for each
 * date of a pipe; whoever draws decides what happens next: a row is read, a request is begun, applied in part or whole,
 * once or again, answered, or the worker is killed and the next one goes on from its checkpoint.
 */
import { LookAhead, type PipeChunk } from '../../src/core/pipes/look-ahead.ts';
import type { FilePosition, PipeLoad, RejectedLoad } from '../../src/core/pipes/chunks-in-order.ts';
import type { PipeIdentity } from '../../src/core/pipes/pipe.ts';
import type { PipeChunkOutcome } from '../../src/core/pipes/checkpoint.ts';
import { addCounts, type Counts } from '../../src/core/run/run.ts';

export interface ModelRow {
  readonly pipe: number;
  readonly version: number;
  readonly kind: 'item' | 'rejected' | 'refused';
}

interface Load extends PipeLoad {
  readonly index: number;
  readonly isRefused: boolean;
}
/** With every row read, sent and answered after many other draws. */
const [mostSteps, stepsEach] = [10_000, 100];

interface Chunk extends PipeChunk<Load> {}

export interface ModelSettings {
  readonly identity: PipeIdentity;
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly concurrency: number;
  readonly kills: number;
}

export interface ModelEnd {
  /** The row that each service holds, by pipe and by pipe and version. */
  readonly byPipe: ReadonlyMap<string, number>;
  readonly byVersion: ReadonlyMap<string, number>;
  readonly counts: Counts;
  readonly requests: number;
  /** The most entries that were read and not passed. */
  readonly mostOpen: number;
  /** What broke a rule on the way, a sentence each. */
  readonly faults: readonly string[];
}

export function pipeOf({ pipe }: ModelRow): string {
  return `pipe ${pipe}`;
}

export function versionOf(row: ModelRow): string {
  return `${pipeOf(row)} version ${row.version}`;
}

export function modelPush(
  rows: readonly ModelRow[],
  settings: ModelSettings,
  draw: (below: number) => number,
): ModelEnd {
  const push = new ModelPush(rows, settings, draw);
  push.run();
  return push.end;
}

class ModelPush {
  readonly #rows: readonly ModelRow[];
  /** The last row of each version. */
  readonly #lastOf: ReadonlyMap<string, number>;
  readonly #settings: ModelSettings;
  readonly #draw: (below: number) => number;
  readonly #byPipe = new Map<string, number>();
  readonly #byVersion = new Map<string, number>();
  readonly #faults: string[] = [];
  /** Rows with an outcome that stands: refused, or accepted by an answer. */
  readonly #settled = new Set<number>();
  #ahead: LookAhead<Load, RejectedLoad>;
  #inFlight: Chunk[] = [];
  #read = 0;
  #kills = 0;
  #requests = 0;
  #mostOpen = 0;
  #saved: { readonly position: FilePosition | undefined; readonly counts: Counts } = {
    position: undefined,
    counts: {},
  };
  #unsaved = this.#saved;

  constructor(rows: readonly ModelRow[], settings: ModelSettings, draw: (below: number) => number) {
    this.#rows = rows;
    this.#lastOf = new Map(rows.flatMap((row, at) => (row.kind === 'rejected' ? [] : [[versionOf(row), at] as const])));
    this.#settings = settings;
    this.#draw = draw;
    this.#ahead = this.#newAhead();
  }

  get end(): ModelEnd {
    return {
      byPipe: this.#byPipe,
      byVersion: this.#byVersion,
      counts: this.#unsaved.counts,
      requests: this.#requests,
      mostOpen: this.#mostOpen,
      faults: this.#faults,
    };
  }

  run(): void {
    // A push that stands still would draw for ever.
    for (let steps = 0; this.#read < this.#rows.length || !this.#ahead.isSettled; steps += 1) {
      if (steps > mostSteps + this.#rows.length * stepsEach) throw new Error('the push stands still');
      this.#step();
      this.#mostOpen = Math.max(this.#mostOpen, this.#ahead.size);
    }
    this.#pass();
  }

  #newAhead(): LookAhead<Load, RejectedLoad> {
    const { maxItems, maxBytes, identity, concurrency } = this.#settings;
    return new LookAhead({ limits: () => ({ maxItems, maxBytes }), identity, concurrency });
  }

  #step(): void {
    const what = this.#draw(10);
    if (what === 0 && this.#kills < this.#settings.kills) this.#kill();
    else if (what <= 5 && this.#mayRead()) this.#readNext();
    else if (what <= 6) this.#answerPart();
    else if (what <= 8 && this.#begin()) return;
    else if (!this.#mayRead() && this.#draw(2) === 0) this.#pass();
    else this.#answer();
  }

  #mayRead(): boolean {
    return this.#read < this.#rows.length && this.#ahead.hasRoom;
  }

  #readNext(): void {
    const index = this.#read;
    const row = this.#rows[index];
    if (row === undefined) return;
    this.#read += 1;
    const end = { byte: index + 1, line: index + 3, form: 'wide' as const };
    if (row.kind === 'rejected') this.#ahead.reject({ rowCount: 1, bytes: 1, end });
    else {
      const of = { key: pipeOf(row), version: `version ${row.version}`, bytes: 1 + (index % 3), rowCount: 1 };
      this.#ahead.add({ ...of, firstLine: index + 2, end, index, isRefused: row.kind === 'refused' });
    }
  }

  #begin(): boolean {
    const reader = this.#read >= this.#rows.length ? 'ended' : this.#mayRead() ? 'reading' : 'waiting';
    const chunk = this.#ahead.next(reader);
    if (chunk === undefined) return false;
    this.#check(chunk);
    this.#inFlight.push(chunk);
    this.#requests += 1;
    return true;
  }

  #check(chunk: Chunk): void {
    const keyOf = ({ key, version }: Load): string =>
      this.#settings.identity === 'unknown' ? key : `${key} ${version}`;
    const keys = new Set(chunk.items.map(keyOf));
    if (keys.size < chunk.items.length) this.#faults.push('two of one key are in a request');
    const others = this.#inFlight.flatMap(({ items }) => items.map(keyOf));
    if (others.some((key) => keys.has(key))) this.#faults.push('two of one key are under way');
    if (others.length > 0 && this.#inFlight.length >= this.#settings.concurrency)
      this.#faults.push('too many requests');
    if (chunk.items.length > this.#settings.maxItems) this.#faults.push('a request is too long');
    if (chunk.bytes > this.#settings.maxBytes && chunk.items.length > 1) this.#faults.push('a request is too large');
  }

  #drawn(): Chunk | undefined {
    return this.#inFlight[this.#draw(Math.max(1, this.#inFlight.length))];
  }

  /** The services look at the items of a request, at some where it is bisected or cut off, and store what they accept. */
  #apply(chunk: Chunk | undefined, mayBePart: boolean): readonly Load[] {
    const applied = (chunk?.items ?? []).filter(() => !mayBePart || this.#draw(2) > 0);
    for (const { index, key, version, isRefused } of applied) {
      if (isRefused) continue;
      this.#byPipe.set(key, index);
      this.#byVersion.set(`${key} ${version}`, index);
    }
    return applied;
  }

  /** Some items of a chunk have their outcome before the others. */
  #answerPart(): void {
    const chunk = this.#drawn();
    const items = this.#apply(chunk, true);
    if (chunk === undefined || this.#draw(2) === 0) return;
    for (const { index } of items) this.#settled.add(index);
    this.#ahead.settlePart(chunk, outcomeOf(items), rejectsOf);
    this.#pass();
  }

  #answer(): void {
    const chunk = this.#drawn();
    if (chunk === undefined) return;
    this.#apply(chunk, false);
    this.#inFlight = this.#inFlight.filter((other) => other !== chunk);
    for (const { index } of chunk.items) this.#settled.add(index);
    const outcome = outcomeOf(chunk.items);
    this.#ahead.settle(chunk, outcome, rejectsOf);
    if (this.#draw(4) === 0) this.#ahead.settle(chunk, outcome, rejectsOf);
    if (this.#draw(3) > 0) this.#pass();
  }

  #pass(): void {
    const passed = this.#ahead.pass();
    if (passed === undefined) return;
    const from = this.#unsaved.position?.byte ?? 0;
    this.#unsaved = { position: passed.end, counts: addCounts(this.#unsaved.counts, passed.counts) };
    for (let index = from; index < passed.end.byte; index += 1) {
      if (!this.#hasOutcome(index)) this.#faults.push(`row ${index} was passed without an outcome`);
    }
    if (this.#draw(2) === 0) this.#saved = this.#unsaved;
  }

  #hasOutcome(index: number): boolean {
    const row = this.#rows[index];
    if (row === undefined || row.kind === 'rejected' || this.#settled.has(index)) return true;
    return (this.#lastOf.get(versionOf(row)) ?? -1) > index;
  }

  /** Requests may have been applied; none is after the next worker has begun. */
  #kill(): void {
    this.#kills += 1;
    for (const chunk of this.#inFlight) if (this.#draw(2) === 0) this.#apply(chunk, true);
    this.#inFlight = [];
    this.#ahead = this.#newAhead();
    this.#unsaved = this.#saved;
    this.#read = this.#saved.position?.byte ?? 0;
  }
}

function outcomeOf(items: readonly Load[]): PipeChunkOutcome<Load> {
  const refused = items.filter(({ isRefused }) => isRefused).map((item) => ({ item, reason: 'no' }));
  return { accepted: items.filter(({ isRefused }) => !isRefused), refused, failed: [], requests: 1 };
}

function rejectsOf({ item: { end } }: { readonly item: Load }): RejectedLoad {
  return { rowCount: 1, bytes: 1, end };
}
