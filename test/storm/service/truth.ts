/** The records of daily production of all wells, as the service has them, and every change of them. */
import type { Mutation, RecordBody } from '../evidence.ts';
import { uwis } from './assets.ts';
import { brokenBody, dayMs, drawnDayBody, drawnNature, restatedBody, type WellNature } from './day-bodies.ts';
import { drawnUuid, type Random } from './random.ts';

/**
 * `doubled` is a `late` record of a day that has one; `emptied` is `removed` of many rows of one month at once, so that a guard
 * against shrinking holds them.
 */
export type MutationKind = Exclude<Mutation['what'], 'initial'> | 'doubled' | 'emptied';

/** A record as a page has it. `instantMs` is undefined where its date cannot be read. */
export interface TruthRow {
  readonly instantMs: number | undefined;
  readonly body: RecordBody;
}

interface Kept {
  readonly xid: string;
  /** Its day, midnight UTC; a date that cannot be read hides it, and does not free it. */
  readonly atMs: number;
  /** As it was, or would be, without a fault. */
  readonly good: RecordBody;
  readonly sent: RecordBody;
}

interface TrueWell {
  readonly nature: WellNature;
  readonly firstMs: number;
  /** The last of its first records. */
  readonly lastMs: number;
  readonly records: Map<string, Kept>;
  readonly removed: Map<string, Kept>;
}

/** How often each kind comes if none is requested. */
const weights: Readonly<Record<MutationKind, number>> = {
  restated: 12,
  late: 4,
  removed: 4,
  returned: 3,
  broken: 3,
  mended: 3,
  moved: 2,
  emptied: 0.4,
  doubled: 0,
};

export class Truth {
  readonly #wells: ReadonlyMap<string, TrueWell>;
  readonly #mutations: Mutation[] = [];
  readonly #random: Random;
  readonly #now: () => number;
  readonly #dateEnd: string;

  /** `now`: the clock of the storm, Unix milliseconds. Days are of UTC. */
  constructor(random: Random, now: () => number) {
    this.#now = now;
    this.#random = random.fork('mutations');
    this.#dateEnd = random.fork('date').pick(['+0000', 'Z']);
    const shutIn = new Set(random.fork('shut in').shuffled(uwis).slice(0, 4));
    this.#wells = new Map(uwis.map((uwi) => [uwi, this.#begin(uwi, random.fork(`well ${uwi}`), shutIn.has(uwi))]));
  }

  get mutations(): readonly Mutation[] {
    return this.#mutations;
  }

  has(uwi: string): boolean {
    return this.#wells.has(uwi);
  }

  /** By date, ascending, then by xid; records without a date that can be read come last. Throws for an unknown well. */
  rowsOf(uwi: string): readonly TruthRow[] {
    const rows = [...this.#well(uwi).records.values()].map(({ xid, atMs, good, sent }) => ({
      xid,
      instantMs: sent['date'] === good['date'] ? atMs : undefined,
      body: sent,
    }));
    return rows.toSorted(
      (left, right) => rank(left.instantMs) - rank(right.instantMs) || (left.xid < right.xid ? -1 : 1),
    );
  }

  /** The bodies of {@link rowsOf}. */
  recordsOf(uwi: string): readonly RecordBody[] {
    return this.rowsOf(uwi).map(({ body }) => body);
  }

  /** The records of every well, as evidence. */
  all(): Readonly<Record<string, readonly RecordBody[]>> {
    return Object.fromEntries(uwis.map((uwi) => [uwi, this.recordsOf(uwi)]));
  }

  /**
   * Changes the records of one well. What is not given is drawn; a given kind of which the well has no case changes nothing.
   * Returns the changes, which are in the log too; they have one time.
   */
  mutate(kind?: MutationKind, uwi?: string): readonly Mutation[] {
    for (let tries = 0; tries < 50; tries += 1) {
      const from = this.#mutations.length;
      const name = uwi ?? this.#random.pick(uwis);
      this.#change(kind ?? this.#drawnKind(), name, this.#well(name));
      if (this.#mutations.length > from) return this.#mutations.slice(from);
    }
    return [];
  }

  #well(uwi: string): TrueWell {
    const well = this.#wells.get(uwi);
    if (well === undefined) throw new RangeError(`the service has no well ${uwi}`);
    return well;
  }

  #begin(uwi: string, random: Random, isShutIn: boolean): TrueWell {
    const lastMs = this.#yesterday() - random.integer(0, 1) * dayMs;
    const firstMs = lastMs - random.integer(104, 116) * dayMs;
    const nature = drawnNature(random, isShutIn);
    const well: TrueWell = { nature, firstMs, lastMs, records: new Map(), removed: new Map() };
    for (let atMs = firstMs; atMs <= lastMs; atMs += dayMs) {
      const isGap = atMs !== firstMs && atMs !== lastMs && random.chance(0.03);
      if (!isGap) this.#add(uwi, well, { what: 'initial', atMs, random });
    }
    return well;
  }

  #drawnKind(): MutationKind {
    const kinds = Object.entries(weights) as ReadonlyArray<readonly [MutationKind, number]>;
    let at = this.#random.next() * kinds.reduce((sum, [, weight]) => sum + weight, 0);
    return kinds.find(([, weight]) => (at -= weight) < 0)?.[0] ?? 'restated';
  }

  #change(kind: MutationKind, uwi: string, well: TrueWell): void {
    const random = this.#random;
    const kept = random.shuffled([...well.records.values()]);
    const isBroken = ({ good, sent }: Kept): boolean => good !== sent;
    const good = kept.find((each) => !isBroken(each));
    switch (kind) {
      case 'late':
        return this.#addOn(uwi, well, this.#drawnFreeDay(well));
      case 'doubled':
        return this.#addOn(uwi, well, good?.atMs);
      case 'restated':
        if (good !== undefined) this.#put(uwi, well, 'restated', { ...good, good: restatedBody(good.good, random) });
        return;
      case 'moved':
        return this.#move(uwi, well, good);
      case 'broken':
        if (good !== undefined) this.#putBroken(uwi, well, good);
        return;
      case 'mended': {
        const broken = kept.find(isBroken);
        if (broken === undefined) return;
        const body = random.chance(0.5) ? broken.good : restatedBody(broken.good, random);
        return this.#put(uwi, well, 'mended', { ...broken, good: body });
      }
      case 'removed':
        // Few enough for a month to keep the most of its rows.
        for (const each of kept.slice(0, random.integer(1, 3))) this.#remove(uwi, well, each);
        return;
      case 'emptied':
        return this.#empty(uwi, well, kept);
      case 'returned': {
        const back = random.shuffled([...well.removed.values()]).find(({ atMs }) => isFree(well, atMs));
        if (back === undefined) return;
        well.removed.delete(back.xid);
        return this.#keep(uwi, well, 'returned', back);
      }
    }
  }

  #addOn(uwi: string, well: TrueWell, atMs: number | undefined): void {
    if (atMs !== undefined) this.#add(uwi, well, { what: 'late', atMs, random: this.#random });
  }

  #add(
    uwi: string,
    well: TrueWell,
    { what, atMs, random }: { readonly what: Mutation['what']; readonly atMs: number; readonly random: Random },
  ): void {
    const [age, daysToEnd] = [(atMs - well.firstMs) / dayMs, (well.lastMs - atMs) / dayMs];
    const xid = drawnUuid(random);
    const good = { xid, date: this.#dateOf(atMs), ...drawnDayBody(well.nature, age, daysToEnd, random) };
    this.#put(uwi, well, what, { xid, atMs, good });
  }

  #move(uwi: string, well: TrueWell, kept: Kept | undefined): void {
    const atMs = this.#drawnFreeDay(well);
    if (kept === undefined || atMs === undefined) return;
    this.#put(uwi, well, 'moved', { xid: kept.xid, atMs, good: { ...kept.good, date: this.#dateOf(atMs) } });
  }

  #putBroken(uwi: string, well: TrueWell, kept: Kept): void {
    this.#keep(uwi, well, 'broken', { ...kept, sent: brokenBody(kept.good, this.#random) });
  }

  /** More rows of one month than a guard of 20 % and 3 rows lets go. */
  #empty(uwi: string, well: TrueWell, kept: readonly Kept[]): void {
    const [first] = kept;
    if (first === undefined) return;
    const month = monthOf(first);
    const rows = kept.filter((each) => monthOf(each) === month);
    const count = Math.ceil(rows.length * (0.4 + this.#random.next() * 0.5));
    for (const each of rows.slice(0, Math.max(4, count))) this.#remove(uwi, well, each);
  }

  #remove(uwi: string, well: TrueWell, kept: Kept): void {
    well.records.delete(kept.xid);
    // It comes back as it was without its fault.
    well.removed.set(kept.xid, { ...kept, sent: kept.good });
    this.#log(uwi, kept.xid, 'removed', null);
  }

  #put(uwi: string, well: TrueWell, what: Mutation['what'], kept: Omit<Kept, 'sent'>): void {
    this.#keep(uwi, well, what, { ...kept, sent: kept.good });
  }

  #keep(uwi: string, well: TrueWell, what: Mutation['what'], kept: Kept): void {
    well.records.set(kept.xid, kept);
    this.#log(uwi, kept.xid, what, kept.sent);
  }

  #log(uwi: string, xid: string, what: Mutation['what'], body: RecordBody | null): void {
    this.#mutations.push({ atMs: this.#now(), uwi, xid, what, body });
  }

  /** From the first day of the well to yesterday. */
  #drawnFreeDay(well: TrueWell): number | undefined {
    const days: number[] = [];
    for (let atMs = well.firstMs; atMs <= this.#yesterday(); atMs += dayMs) if (isFree(well, atMs)) days.push(atMs);
    return days.length === 0 ? undefined : this.#random.pick(days);
  }

  #yesterday(): number {
    return (Math.floor(this.#now() / dayMs) - 1) * dayMs;
  }

  #dateOf(atMs: number): string {
    return `${new Date(atMs).toISOString().slice(0, 19)}${this.#dateEnd}`;
  }
}

function isFree(well: TrueWell, atMs: number): boolean {
  return [...well.records.values()].every((kept) => kept.atMs !== atMs);
}

function monthOf({ atMs }: Kept): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

function rank(instantMs: number | undefined): number {
  return instantMs ?? Number.MAX_SAFE_INTEGER;
}
