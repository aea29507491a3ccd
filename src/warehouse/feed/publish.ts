/**
 * Publishes what is due, in passes of some months each, under the lease of the feed:
 *
 *   lease -> due months, with their marks -> files, each uploaded whole -> manifest.json, in one step -> marks cleared
 *
 * Killed before the manifest, a pass leaves files that nothing names; killed behind it, months that are due once more. Two
 * passes at once are held apart by the version: the transaction that replaces the manifest and clears the marks is alone
 * in the warehouse, and finds that another one was quicker.
 */
import { randomUUID } from 'node:crypto';
import { AbortedError, OutageError, PermanentError } from '../../core/base/errors.ts';
import type { ContractSettings } from '../../core/contract/tables.ts';
import { sleep } from '../../timers/sleep.ts';
import {
  datapackageBytes,
  datapackageName,
  type FeedManifest,
  type FeedStore,
  type Published,
  type PublisherParts,
  readManifest,
} from './manifest.ts';
import { hourMs, isOver, type Keeping, publishPass } from './publish-pass.ts';
import { feedTableNames } from './tables.ts';

/** What a call goes on with. */
interface PublishHow {
  /** Every month and table is written again. */
  readonly all: boolean;
  readonly signal: AbortSignal;
  /** Called after each pass with the months so far, and those that were due. */
  readonly onPass?: (months: number, due: number) => void;
}

/**
 * Throws AbortedError on the signal, with every pass before it in place; OutageError (`feed-busy`) while another process
 * publishes for longer than `waitMs`; PermanentError if the store has the feed of another warehouse, or no manifest that
 * can be read; and as the store and the warehouse do.
 */
export async function publishFeed(parts: PublisherParts, how: PublishHow): Promise<Published> {
  const untilMs = performance.now() + parts.settings.waitMs;
  for (;;) {
    const published = await publishLeased(parts, how, untilMs);
    if (published !== undefined) return published;
    // The lease was lost, by a host that stood still: what the other one has not published is still due.
    if (performance.now() >= untilMs) throw busy();
  }
}

/** Returns undefined if the lease was lost on the way. */
async function publishLeased(parts: PublisherParts, how: PublishHow, untilMs: number): Promise<Published | undefined> {
  const holder = randomUUID();
  await takeLease(parts, holder, { signal: how.signal, untilMs });
  const ending = new AbortController();
  const keeping = keepLease(parts, holder, ending.signal);
  try {
    return await publishPasses(parts, holder, how);
  } finally {
    ending.abort();
    // A renewal behind the release would take it again.
    await keeping;
    // Where this fails, the lease ends by itself.
    await parts.ledger.release(holder).catch(() => undefined);
  }
}

const pollAgainMs = 250;

async function takeLease(
  { ledger, settings }: PublisherParts,
  holder: string,
  { signal, untilMs }: { readonly signal: AbortSignal; readonly untilMs: number },
): Promise<void> {
  while (!(await ledger.hold(holder, settings.leaseMs))) {
    if (signal.aborted) throw new AbortedError();
    if (performance.now() >= untilMs) throw busy();
    await sleep(pollAgainMs, { signal }).catch(() => undefined);
  }
}

/** Until the signal aborts. A renewal that fails shows with the next version, which is refused without the lease. */
async function keepLease({ ledger, settings }: PublisherParts, holder: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(settings.leaseMs / 3, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    await ledger.hold(holder, settings.leaseMs).catch(() => false);
  }
}

function busy(): OutageError {
  return new OutageError('warehouse', 'feed-busy', 'another process publishes the feed', {
    hint: 'What is due stays due: wait for the other one, or publish again later.',
  });
}

async function publishPasses(parts: PublisherParts, holder: string, how: PublishHow): Promise<Published | undefined> {
  const { ledger, settings, store, now } = parts;
  let stored = await readManifest(store);
  if (stored !== undefined) requireOwner(parts, stored.manifest);
  const nowMs = now();
  const keeping = { keepHours: settings.keepHours, nowMs, signal: how.signal };
  const removed = stored === undefined ? 0 : await removeOldFiles(store, stored.manifest, keeping);
  const all = how.all || (stored !== undefined && stored.manifest.format !== settings.format);
  const months = stored?.manifest.files.flatMap(({ month }) => month ?? []) ?? [];
  const highest = await ledger.begin(stored && { ...stored.manifest, months }, all);
  const { total: due } = await ledger.due(1);
  let total: Published | undefined;
  for (let pass = 1; pass <= Math.max(1, Math.ceil(due / settings.maxMonths)); pass += 1) {
    if (how.signal.aborted) throw new AbortedError();
    const done = await publishPass(parts, {
      holder,
      stored,
      highest,
      nowMs,
      allMonths: all,
      allTables: all && pass === 1,
      signal: how.signal,
    });
    if (done === undefined) return undefined;
    stored = done.stored;
    total = added(total, { ...done.published, removed });
    if (stored !== undefined) await describe(store, stored.manifest, settings.contract);
    how.onPass?.(total.months, due);
  }
  return total;
}

function requireOwner({ store, owner }: PublisherParts, { warehouse, service }: FeedManifest): void {
  if (warehouse === owner.warehouse) return;
  const whose = service === null ? warehouse : `${warehouse} of the service ${service}`;
  throw new PermanentError('feed-owner', `${store.address} holds the feed of another warehouse, ${whose}`, {
    hint: 'Set feed.url to a place of its own. If this warehouse takes the place of the other one, move manifest.json away: the feed is then written again.',
  });
}

function added(total: Published | undefined, pass: Published): Published {
  if (total === undefined) return pass;
  return {
    ...pass,
    isNew: total.isNew || pass.isNew,
    months: total.months + pass.months,
    files: total.files + pass.files,
    rows: total.rows + pass.rows,
    restatements: total.restatements + pass.restatements,
  };
}

/** Written behind the manifest, and again where that was cut by a kill. */
async function describe(store: FeedStore, manifest: FeedManifest, contract: ContractSettings): Promise<void> {
  const described = datapackageBytes(manifest, contract);
  const found = await store.read(datapackageName, described.length).catch(() => undefined);
  if (found?.equals(described) !== true) await store.write(datapackageName, described);
}

/** A publication that is killed leaves files that no version ever named: nobody reads them. */
const unnamedHours = 24;

/** Of this feed alone: other files in the place are left alone. */
const ownFile = new RegExp(
  String.raw`^(?:daily_production/production_month=\d{4}-\d{2}|${feedTableNames.filter((name) => name !== 'daily_production').join('|')})/part-[\w-]+\.(?:parquet|csv)$`,
);

/**
 * To be called under the lease, with the manifest that is in place. The next version forgets the retired ones that are
 * over. Returns the number of files.
 */
async function removeOldFiles(store: FeedStore, manifest: FeedManifest, keeping: Keeping): Promise<number> {
  const { files, retired } = manifest;
  const over = retired.filter(({ since }) => isOver(since, keeping)).map(({ path }) => path);
  const known = new Set([...files, ...retired].map(({ path }) => path));
  const there = new Set<string>();
  const unnamed: string[] = [];
  for (const table of feedTableNames) {
    for await (const { name, changedAtMs } of store.list(`${table}/`)) {
      there.add(name);
      const isOld = keeping.nowMs - changedAtMs >= Math.max(unnamedHours, keeping.keepHours) * hourMs;
      if (isOld && !known.has(name) && ownFile.test(name)) unnamed.push(name);
    }
  }
  const removed = [...over.filter((path) => there.has(path)), ...unnamed];
  for (const path of removed) {
    if (keeping.signal.aborted) break;
    await store.remove(path);
  }
  return removed.length;
}
