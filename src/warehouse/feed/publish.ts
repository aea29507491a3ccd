/**
 * Publishes what is due, in passes of some months each, under the lease of the feed:
 *
 *   lease -> due months, with their marks -> files, each uploaded whole -> manifest.json, in one step -> marks cleared
 *
 * Killed before the manifest, a pass leaves files that nothing names; killed behind it, months that are due once more. Two
 * passes at once are held apart by the version: the transaction that replaces the manifest and clears the marks is alone
 * in the warehouse, and finds that another one was quicker.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { AbortedError, OutageError, PermanentError, TransientError, UnreachableError } from '../../core/base/errors.ts';
import type { ContractSettings } from '../../core/contract/tables.ts';
import { sleep } from '../../timers/sleep.ts';
import {
  datapackageBytes,
  datapackageName,
  type FeedManifest,
  type FeedStore,
  feedTableNames,
  feedUnits,
  fileNameOf,
  inOrder,
  manifestBytes,
  type ManifestFile,
  manifestName,
  type Pass,
  type Published,
  type PublisherParts,
  readManifest,
  type StoredManifest,
  wholeTables,
} from './manifest.ts';
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { onDisk } from '../../core/base/file-fault.ts';
import type { DueMonths, FeedRows } from '../port/feed.ts';

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

// One pass of a publication: files of what is due, and a version of the manifest that names them.

interface PassResult {
  readonly stored: StoredManifest | undefined;
  readonly published: Omit<Published, 'removed'>;
}

/** Returns undefined if another process has published meanwhile: everything is due as before then. */
async function publishPass(parts: PublisherParts, pass: Pass): Promise<PassResult | undefined> {
  const { ledger, settings } = parts;
  const due = await ledger.due(settings.maxMonths);
  const files = new Map((pass.stored?.manifest.files ?? []).map((file) => [keyOf(file), file]));
  const written = [
    ...(await writeMonths(parts, pass, due, files)),
    ...(await writeTables(parts, pass, files)),
    ...(await nextRestatements(parts, pass)),
  ];
  for (const file of written) files.set(keyOf(file), file);
  const marks = due.months.flatMap((month) => month.marks);
  const restatements = written.filter(({ table }) => table === 'restatements').reduce((sum, { rows }) => sum + rows, 0);
  const published = {
    version: pass.stored?.manifest.version ?? 0,
    isNew: false,
    months: due.months.length,
    files: written.length,
    rows: written.reduce((sum, { rows }) => sum + rows, 0),
    restatements,
    monthsDue: due.total - due.months.length,
  };
  if (pass.stored !== undefined && written.length === 0 && marks.length === 0) {
    return { stored: pass.stored, published };
  }
  const stored = nextManifest(parts, pass, [...files.values()], published.monthsDue);
  const { feedId, version } = stored.manifest;
  const isWritten = await ledger.publish(pass.holder, { feedId, version, marks }, () =>
    replaceManifest(parts, pass.stored, stored),
  );
  return isWritten ? { stored, published: { ...published, version, isNew: true } } : undefined;
}

/** A table has one file; a month, and each range of restatements, one of its own. */
function keyOf({ table, month = '', first = 0 }: ManifestFile): string {
  return `${table} ${month} ${first}`;
}

type Files = Map<string, ManifestFile>;

/** Returns the files that are new; takes months without rows out of `files`. */
async function writeMonths(
  parts: PublisherParts,
  { allMonths, signal }: Pass,
  due: DueMonths,
  files: Files,
): Promise<readonly ManifestFile[]> {
  const written: ManifestFile[] = [];
  for (const { month } of due.months) {
    const known = [...files.values()].find((file) => file.month === month);
    const making = { signal, known: allMonths ? undefined : known };
    const file = await makeFile(parts, { table: 'daily_production', month }, making);
    if (file !== undefined && file !== known) written.push(file);
    if (file === undefined && known !== undefined) files.delete(keyOf(known));
  }
  return written;
}

async function writeTables(
  parts: PublisherParts,
  { allTables: all, signal }: Pass,
  files: Files,
): Promise<readonly ManifestFile[]> {
  const stamps = await parts.ledger.stamps();
  const written: ManifestFile[] = [];
  for (const table of wholeTables) {
    const known = [...files.values()].find((file) => file.table === table);
    // Of before the rows were read: what changes meanwhile is published again.
    const stamp = stamps[table];
    if (known?.stamp === stamp && !all) continue;
    const making = { signal, known: all ? undefined : known, stamp, isKeptEmpty: true };
    const file = await makeFile(parts, { table }, making);
    if (file !== undefined) written.push(file);
  }
  return written;
}

function nextManifest(
  { owner, settings, now }: PublisherParts,
  { stored, highest, nowMs }: Pass,
  files: readonly ManifestFile[],
  monthsDue: number,
): StoredManifest {
  const publishedAt = new Date(now()).toISOString();
  const named = new Set(files.map(({ path }) => path));
  const old = stored?.manifest;
  const dropped = (old?.files ?? []).filter(({ path }) => !named.has(path));
  const retired = [
    ...(old?.retired ?? []).filter(({ since }) => !isOver(since, { keepHours: settings.keepHours, nowMs })),
    ...dropped.map(({ path }) => ({ path, since: publishedAt })),
  ];
  const manifest: StoredManifest['manifest'] = {
    feed: 1,
    feedId: old?.feedId ?? randomUUID(),
    version: Math.max(highest, old?.version ?? 0) + 1,
    publishedAt,
    ...owner,
    format: settings.format,
    monthsDue,
    lastRestatement: Math.max(old?.lastRestatement ?? 0, ...files.map(({ last = 0 }) => last)),
    files: [...inOrder(files)],
    retired,
  };
  return { manifest, bytes: manifestBytes(manifest) };
}

/** Reads it back: a store that answers and keeps nothing must not clear what is due. */
async function replaceManifest(
  { store }: PublisherParts,
  before: StoredManifest | undefined,
  next: StoredManifest,
): Promise<void> {
  if (!(await store.replace(manifestName, next.bytes, before?.bytes))) throw moved(store.address);
  const found = await readManifest(store);
  if (found?.bytes.equals(next.bytes) !== true) {
    throw new UnreachableError('files', `${store.address}/${manifestName} does not read back as it was written`, {
      hint: 'A feed needs a place in which a read sees the last write at once. What is due stays due.',
    });
  }
}

function moved(address: string): PermanentError {
  return new PermanentError('feed-moved', `${address}/${manifestName} was replaced by another program meanwhile`, {
    hint: 'See that no other warehouse publishes to the same place. What is due stays due.',
  });
}

/**
 * Files of restatements: appended, never written again, so that a reader goes on after the last number that it has.
 */
const rowsInFile = 100_000;

/** Files of the numbers that the manifest does not reach; with `allTables`, of those whose file was lost or damaged as well. */
async function nextRestatements(parts: PublisherParts, pass: Pass): Promise<readonly ManifestFile[]> {
  const from = pass.stored?.manifest.lastRestatement ?? 0;
  const ranges = [
    ...(pass.allTables ? await lostRanges(parts, pass) : []),
    ...newRanges(from, await numberAll(parts, pass)),
  ];
  const written: ManifestFile[] = [];
  for (const { after, last } of ranges) {
    const file = await makeFile(parts, { table: 'restatements', after, last }, { signal: pass.signal });
    // Undefined where retention.historyDays has removed all of them.
    if (file !== undefined) written.push(file);
  }
  return written;
}

interface NumberRange {
  readonly after: number;
  readonly last: number;
}

async function numberAll({ ledger }: PublisherParts, { signal }: Pass): Promise<number> {
  for (let last = -1; ;) {
    if (signal.aborted) throw new AbortedError();
    const next = await ledger.numberRestatements(rowsInFile);
    if (next === last) return last;
    last = next;
  }
}

function newRanges(from: number, last: number): readonly NumberRange[] {
  const ranges: NumberRange[] = [];
  for (let after = from; after < last; after += rowsInFile) {
    ranges.push({ after, last: Math.min(after + rowsInFile, last) });
  }
  return ranges;
}

async function lostRanges({ store, settings }: PublisherParts, { stored }: Pass): Promise<readonly NumberRange[]> {
  const lost: NumberRange[] = [];
  for (const { table, path, bytes, sha256, first = 0, last = 0 } of stored?.manifest.files ?? []) {
    if (table !== 'restatements') continue;
    try {
      await using file = await store.fetch(path, { bytes, sha256 }, settings.folder);
      if (file !== undefined) continue;
    } catch (error) {
      if (!(error instanceof TransientError && error.code === 'file-damaged')) throw error;
    }
    lost.push({ after: first - 1, last });
  }
  return lost;
}

/** Whether a file that was named last until `since` may go. */
function isOver(since: string, { keepHours, nowMs }: Pick<Keeping, 'keepHours' | 'nowMs'>): boolean {
  return nowMs - Date.parse(since) >= keepHours * hourMs;
}

/** Removes files of a feed that were named by no version for long enough, whatever their age. */
const hourMs = 3_600_000;

export interface Keeping {
  readonly keepHours: number;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

// One file of a feed: written here, read back, and copied into the store under a name that is never used again.

interface Making {
  readonly signal: AbortSignal;
  /** The file of these rows that the manifest names. */
  readonly known?: ManifestFile | undefined;
  readonly stamp?: string;
  /** Whether a file without rows is one as well. */
  readonly isKeptEmpty?: boolean;
}

/** Returns `known` if it has these very rows already, undefined where there are none. Throws AbortedError on the signal. */
async function makeFile(
  { store, tables, readFile, settings }: PublisherParts,
  rows: FeedRows,
  { signal, known, stamp, isKeptEmpty = false }: Making,
): Promise<ManifestFile | undefined> {
  if (signal.aborted) throw new AbortedError();
  const { format, folder } = settings;
  const unique = randomBytes(4).toString('hex');
  const file = join(folder, `${settings.filePrefix}feed-${process.pid}-${unique}.${format}`);
  await onDisk(folder, () => mkdir(folder, { recursive: true }));
  try {
    await tables.writeFile(rows, { path: file, format, units: feedUnits(rows.table, settings.contract) });
    // Of another reading than the one that wrote it: a file that does not read back is never named.
    const content = await readFile(rows.table, { path: file, format });
    if (content.rows === 0 && !isKeptEmpty) return undefined;
    const digest = await onDisk(file, () => digestOf(file));
    const range = rows.table === 'restatements' ? { first: rows.after + 1, last: rows.last } : {};
    const about = { table: rows.table, ...(rows.table === 'daily_production' ? { month: rows.month } : {}), ...range };
    const made = { ...about, ...digest, ...content, ...(stamp === undefined ? {} : { stamp }) };
    if (known?.sha256 === digest.sha256) return stamp === known.stamp ? known : { ...known, ...made };
    const name = fileNameOf(made, unique, format);
    await store.upload(name, file, digest);
    return { path: name, ...made };
  } finally {
    await rm(file, { force: true });
  }
}

async function digestOf(file: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const block of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    hash.update(block as Buffer);
    bytes += (block as Buffer).length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
