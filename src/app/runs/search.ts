/** Search over wells, runs, pushed files and plans by any part of a name, and the wells that a wrong name is nearest to. */
import { UsageError } from '../../core/base/errors.ts';
import { keyOfName, listed, type NameKey, nearestNames, nearestOf, printable } from '../../core/base/text.ts';
import type { App } from '../app.ts';
import { jobTitle, scopeText } from './run-scope.ts';
import type { LedgerReader, Read } from '../warehouse/last-known.ts';

export const foundKinds = ['well', 'run', 'file', 'plan'] as const;

export interface Found {
  readonly kind: (typeof foundKinds)[number];
  /** Of the page: a uwi, a run (also of a file, which it pushed), or a plan. */
  readonly id: string;
  readonly name: string;
  /** What it is, beside its name; null for a well. */
  readonly remark: string | null;
}

interface Entry extends Found {
  readonly key: NameKey;
}

/** The newest runs and plans are searched. */
const mostRuns = 10_000;
const mostPlans = 1_000;

/** Of so many found runs it is said what they covered. */
const mostRemarks = 20;

/** How long an index counts: a reader who types asks several times a second. */
const keptMs = 5_000;

/** Of a server: it keeps the names for some seconds. */
export class Search {
  readonly #app: App;
  readonly #reader: LedgerReader;
  #index: { readonly entries: Promise<Read<readonly Entry[]>>; readonly atMs: number } | undefined;

  constructor(app: App, reader: LedgerReader) {
    this.#app = app;
    this.#reader = reader;
  }

  /** The nearest first, wells before runs, files and plans where a text fits none of them exactly. */
  async find(text: string, limit: number): Promise<Read<readonly Found[]>> {
    const { value: entries, ...read } = await this.#entries();
    const found = foundKinds.map((kind) =>
      nearestOf(
        entries.filter((entry) => entry.kind === kind),
        text,
        limit,
      ),
    );
    const value = shared(found, limit).map(({ kind, id, name, remark }) => ({ kind, id, name, remark }));
    const ids = value.flatMap(({ kind, id }) => (kind === 'run' ? [id] : [])).slice(0, mostRemarks);
    if (ids.length === 0) return { ...read, value };
    const { value: remarks } = await this.#reader.read(['found', ids], () => remarksOf(this.#app, ids));
    return { ...read, value: value.map((each) => ({ ...each, remark: remarks.get(each.id) ?? each.remark })) };
  }

  async #entries(): Promise<Read<readonly Entry[]>> {
    const nowMs = performance.now();
    if (this.#index === undefined || nowMs - this.#index.atMs >= keptMs) {
      const entries = this.#reader.read(['search'], () => readEntries(this.#app));
      this.#index = { entries, atMs: nowMs };
      entries.catch(() => (this.#index = undefined));
    }
    return this.#index.entries;
  }
}

/** What a run covers, its state, and when it was requested. */
async function remarksOf({ ledger, config }: App, runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const remarks = new Map<string, string>();
  for (const runId of runIds) {
    const run = await ledger.runs.read(runId);
    if (run === undefined) continue;
    const covers = scopeText(run, config.timeZone);
    const at = new Date(run.requestedAtMs).toISOString().slice(0, 16).replace('T', ' ');
    remarks.set(runId, `${jobTitle(run.job)}: ${covers}; ${run.state}, ${at} UTC`);
  }
  return remarks;
}

async function readEntries({ warehouse, ledger }: App): Promise<readonly Entry[]> {
  const wells = await knownUwis(warehouse);
  const runs = await ledger.runs.names(mostRuns);
  const plans = await ledger.cleanupPlans.list(mostPlans);
  const found: readonly Found[] = [
    ...wells.map((uwi) => ({ kind: 'well', id: uwi, name: uwi, remark: null }) as const),
    ...runs.map(({ runId, job }) => ({ kind: 'run', id: runId, name: runId, remark: job }) as const),
    ...runs.flatMap(({ runId, file }) =>
      file === null ? [] : [{ kind: 'file', id: runId, name: file, remark: `pushed by run ${runId}` } as const],
    ),
    ...plans.map(
      ({ planId, selection }) => ({ kind: 'plan', id: planId, name: planId, remark: selection ?? 'cleanup' }) as const,
    ),
  ];
  return found.map((entry) => ({
    ...entry,
    // A run is found by its job, and a plan by its selection.
    key: keyOfName(entry.kind === 'run' || entry.kind === 'plan' ? `${entry.name} ${entry.remark ?? ''}` : entry.name),
  }));
}

/** Those that were read, and those that the service did not know. */
async function knownUwis({ dailyProduction, coverage }: App['warehouse']): Promise<readonly string[]> {
  const unknown = await coverage.unknownWells();
  return [...new Set([...(await dailyProduction.uwis()), ...unknown.map(({ uwi }) => uwi)])];
}

/** Each kind has its share of the list, and what one does not need is for the others. */
function shared(kinds: ReadonlyArray<readonly Entry[]>, limit: number): readonly Entry[] {
  const least = Math.max(1, Math.floor(limit / (2 * kinds.length)));
  let left = limit - kinds.reduce((sum, found) => sum + Math.min(least, found.length), 0);
  return kinds.flatMap((found) => {
    const more = Math.max(0, Math.min(left, found.length - least));
    left -= more;
    return found.slice(0, least + more);
  });
}

const mostNear = 5;

/** The wells whose names are nearest to one that is none: those that have it as a part, then those that differ least. */
export async function nearestWells({ warehouse }: Pick<App, 'warehouse'>, given: string): Promise<readonly string[]> {
  const uwis = await knownUwis(warehouse);
  const entries = uwis.map((name) => ({ name, key: keyOfName(name) }));
  const having = nearestOf(entries, given, mostNear).map(({ name }) => name);
  const near = [...new Set([...having, ...nearestNames(given, uwis, mostNear)])].slice(0, mostNear);
  return near.length > 0 ? near : alikeAtFirst(entries, given);
}

/** Those that share the longest beginning with a name. */
function alikeAtFirst(entries: ReadonlyArray<{ name: string; key: NameKey }>, given: string): readonly string[] {
  for (let length = given.length - 1; length >= leastAlike; length -= 1) {
    const found = nearestOf(entries, given.slice(0, length), mostNear);
    if (found.length > 0) return found.map(({ name }) => name);
  }
  return [];
}

/** A beginning that is shorter says nothing. */
const leastAlike = 3;

/** Throws UsageError with the wells that the warehouse does not know, and the names that are nearest to the first of them. */
export async function refuseUnknownWells(
  app: Pick<App, 'warehouse'>,
  uwis: readonly string[] | undefined,
): Promise<void> {
  if (uwis === undefined) return;
  const known = new Set(await knownUwis(app.warehouse));
  const unknown = uwis.filter((uwi) => !known.has(uwi));
  const [first] = unknown;
  if (first === undefined) return;
  const near = await nearestWells(app, first);
  throw new UsageError(`the warehouse has no well ${listed(unknown.map((uwi) => `"${printable(uwi)}"`))}`, {
    hint:
      near.length === 0
        ? 'Name a well by its uwi, as it was exported.'
        : `The nearest names: ${listed(near.map(printable))}.`,
  });
}
