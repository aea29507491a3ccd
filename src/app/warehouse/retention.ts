/** Removes what was kept long enough: rows of the warehouse, and files: with rejected rows, of the inbox, copies and shared ones (docs/operating.md). */
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import { filesOfPush, networkPipesJobName } from '../../../jobs/network-pipes/job.ts';
import { AbortedError, TakenOverError } from '../../core/base/errors.ts';
import { DAY_MS } from '../../core/time/window.ts';
import { oldArrivals, removeArrival } from '../../files/inbox-folder.ts';
import type { NeededFiles } from '../../files/shared-files.ts';
import { sleep } from '../../timers/sleep.ts';
import type { Pruned, RetentionBounds, RunFilter } from '../../warehouse/port/runs.ts';
import type { Ledger } from '../../warehouse/port/warehouse.ts';
import type { App } from '../app.ts';
import { ownInboxFolders } from '../inbox/inbox-owner.ts';
import { listedRuns } from '../runs/find-runs.ts';
import { isCopyName, spoolFolderOf } from '../pushes/pipes-source.ts';

/** How often a worker looks whether a day has passed since the last time. */
const pollEveryMs = 600_000;

/** Numbers of what was, or would be, removed. */
export interface PrunedAll extends Pruned {
  readonly rejectsFiles: number;
  /** In `done/` of the inbox of this host. */
  readonly inboxFiles: number;
  /** Of standard input and uploads. */
  readonly copies: number;
  /** Of the files that several hosts share. */
  readonly sharedFiles: number;
}

const nothing: PrunedAll = {
  units: 0,
  plans: 0,
  runs: 0,
  pushes: 0,
  history: 0,
  alerts: 0,
  rejectsFiles: 0,
  inboxFiles: 0,
  copies: 0,
  sharedFiles: 0,
};

function retentionBounds({ retention, push }: Config, nowMs: number): RetentionBounds {
  const before = (days: number): number => nowMs - days * DAY_MS;
  return {
    unitsMs: before(retention.unitDays),
    runsMs: before(retention.runDays),
    pushesMs: before(push.rememberDays),
    historyMs: retention.historyDays === undefined ? undefined : before(retention.historyDays),
    alertsMs: before(retention.alertDays),
  };
}

/** What {@link prune} would remove now. */
export async function countPrunable(app: App, nowMs: number): Promise<PrunedAll> {
  const { config, ledger } = app;
  const rejectsFiles = (await oldRejects(config, nowMs)).length;
  const inboxFiles = (await oldInboxFiles(app, nowMs)).length;
  const copies = (await unneededCopies(app, nowMs)).length;
  const sharedFiles = (await removableShared(app, nowMs)).length;
  const rows = await ledger.retention.count(retentionBounds(config, nowMs));
  return { ...rows, rejectsFiles, inboxFiles, copies, sharedFiles };
}

/** Removes it step by step, each in a short transaction, until nothing is left or the signal aborts. */
export async function prune(app: App, nowMs: number, signal?: AbortSignal): Promise<PrunedAll> {
  const {
    config,
    ledger: { retention },
  } = app;
  const bounds = retentionBounds(config, nowMs);
  for (let total = nothing; ;) {
    if (signal?.aborted === true) return total;
    const removed = await retention.step(bounds);
    if (removed === undefined) {
      const rejectsFiles = await removeAll(await oldRejects(config, nowMs));
      const inboxFiles = await removeInboxFiles(app, nowMs, signal);
      const copies = await removeAll(await unneededCopies(app, nowMs));
      const sharedFiles = await removeShared(app, nowMs, signal).catch(noneIfStopped);
      const all = { ...total, rejectsFiles, inboxFiles, copies };
      if (sharedFiles === undefined) return all;
      await retention.recordPruned(nowMs);
      return { ...all, sharedFiles };
    }
    total = sumOf(total, removed);
  }
}

function sumOf(left: PrunedAll, right: Pruned): PrunedAll {
  const names = Object.keys(right) as readonly (keyof Pruned)[];
  return { ...left, ...Object.fromEntries(names.map((name) => [name, left[name] + right[name]])) };
}

/** Prunes where that came to its end more than a day ago. */
export async function pruneOnceADay(app: App, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const prunedAtMs = await app.ledger.retention.prunedAtMs();
    if (prunedAtMs !== undefined && Date.now() - prunedAtMs < DAY_MS) return;
    const pruned = await prune(app, Date.now(), signal);
    if (Object.values(pruned).some((count) => count > 0)) log.info(pruned, 'what was kept long enough was removed');
  } catch (error) {
    // What is left goes the next time.
    if (!signal.aborted && !(error instanceof TakenOverError))
      log.warn({ err: error }, 'old rows could not be removed');
  }
}

/** Prunes once a day until the signal aborts. */
export async function keepPruning(app: App, log: Logger, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(pollEveryMs, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    await pruneOnceADay(app, log, signal);
  }
}

async function removeShared(app: App, nowMs: number, signal: AbortSignal | undefined): Promise<number> {
  const names = await removableShared(app, nowMs, signal);
  return (await app.sharedFiles?.remove(names, nowMs, signal)) ?? 0;
}

function noneIfStopped(error: unknown): undefined {
  if (!(error instanceof AbortedError)) throw error;
}

async function removableShared(
  { config, ledger, sharedFiles }: App,
  nowMs: number,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const rejectsBeforeMs = nowMs - config.retention.rejectsDays * DAY_MS;
  const retriedSinceMs = nowMs - config.retention.unitDays * DAY_MS;
  const needed = () => neededFiles(ledger, retriedSinceMs);
  return (await sharedFiles?.removable({ nowMs, rejectsBeforeMs }, needed, signal)) ?? [];
}

/** What unfinished runs need, and those that can still be retried: requested since then. */
async function neededFiles(
  { runs }: Ledger,
  sinceMs: number,
): Promise<NeededFiles & { readonly copies: ReadonlySet<string> }> {
  const contents = new Set<string>();
  const copies = new Set<string>();
  const runIds = new Set<string>();
  const filters: readonly Omit<RunFilter, 'limit'>[] = [
    { job: networkPipesJobName, states: ['queued', 'running'] },
    { job: networkPipesJobName, states: ['failed', 'cancelled', 'interrupted'], sinceMs },
  ];
  for (const filter of filters) {
    for await (const { runId } of listedRuns(runs, filter)) {
      const { shared, copy } = filesOfPush((await runs.readHead(runId))?.params);
      if (shared !== undefined) contents.add(shared.sha256);
      if (copy !== undefined) copies.add(copy);
      runIds.add(runId);
    }
  }
  return { contents, copies, runs: runIds };
}

/**
 * Copies that no push needs: a process that was killed as it made one has left it, or the push failed and was not
 * retried. They are as old as the runs that nobody can retry any more.
 */
async function unneededCopies({ config, ledger }: App, nowMs: number): Promise<readonly string[]> {
  const sinceMs = nowMs - config.retention.unitDays * DAY_MS;
  const old = await oldFiles(spoolFolderOf(config), isCopyName, sinceMs);
  if (old.length === 0) return [];
  const { copies } = await neededFiles(ledger, sinceMs);
  return old.filter((file) => !copies.has(file));
}

async function removeAll(files: readonly string[]): Promise<number> {
  for (const file of files) await rm(file, { force: true });
  return files.length;
}

/** Files with rejected rows that nobody has written to for so long: unfinished pushes write to theirs. */
async function oldRejects(config: Config, nowMs: number): Promise<readonly string[]> {
  const beforeMs = nowMs - config.retention.rejectsDays * DAY_MS;
  return oldFiles(rejectsFolderOf(config), (name) => name.endsWith('.csv'), beforeMs);
}

async function oldFiles(
  folder: string,
  isOurs: (name: string) => boolean,
  beforeMs: number,
): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const old: string[] = [];
  for (const name of names.filter((each) => isOurs(each))) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() === true && found.mtimeMs < beforeMs) old.push(file);
  }
  return old;
}

async function removeInboxFiles(app: App, nowMs: number, signal: AbortSignal | undefined): Promise<number> {
  let removed = 0;
  for (const folder of await oldInboxFiles(app, nowMs)) {
    if (signal?.aborted === true) break;
    await removeArrival(folder);
    removed += 1;
  }
  return removed;
}

async function oldInboxFiles(app: App, nowMs: number): Promise<readonly string[]> {
  const beforeMs = nowMs - app.config.retention.inboxDays * DAY_MS;
  const old = await Promise.all((await ownInboxFolders(app)).map((root) => oldArrivals(root, beforeMs)));
  return old.flat();
}

export function rejectsFolderOf({ dataDir }: Pick<Config, 'dataDir'>): string {
  return path.resolve(dataDir, 'rejects');
}
