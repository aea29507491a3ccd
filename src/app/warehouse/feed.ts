/** The feed: what it stands on by the configuration, and when it is published (docs/feed.md). */
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import { AbortedError, faultOf, TakenOverError, UsageError } from '../../core/base/errors.ts';
import { checkNoRezone } from '../../core/daily/zones.ts';
import { copyPrefix, removeLeftCopies } from '../../files/checked-blocks.ts';
import type { FileStore } from '../../files/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { Published, PublisherParts } from '../../warehouse/feed/manifest.ts';
import type { VerifiedFeed } from '../../warehouse/feed/verify.ts';
import type { App } from '../app.ts';
import { contractSettings } from './contract.ts';
import { knownSecrets } from '../service/service-settings.ts';
import { spoolFolderOf } from '../pushes/pipes-source.ts';

export type { Published, VerifiedFeed };

/** A publisher that was killed lets the next one in after so long. */
const leaseMs = 10_000;
/** Longer than the lease of a killed one. */
const waitMs = 120_000;
/** How often a worker looks for what is due and was not published: a run that another process ended, a place that was away. */
const pollEveryMs = 600_000;

export interface PublishFlags {
  readonly all: boolean;
  readonly signal: AbortSignal;
  readonly onPass?: (months: number, due: number) => void;
}

/** Returns the address of the feed as well. Throws UsageError without feed.url, and as publishFeed does. */
export async function publish(app: App, how: PublishFlags): Promise<Published & { readonly address: string }> {
  const { publishFeed } = await import('../../warehouse/feed/publish.ts');
  // It may not be the warehouse that was meant (G11).
  if (app.config.service.url !== undefined) await app.checkService();
  checkNoRezone(await app.warehouse.zones.read());
  return withParts(app, how.signal, async (parts) => ({
    address: parts.store.address,
    ...(await publishFeed(parts, how)),
  }));
}

/** Throws UsageError without feed.url, and as verifyFeed does. */
export async function verify(
  app: App,
  how: { readonly signal: AbortSignal; readonly onFile?: (files: number, of: number) => void },
): Promise<VerifiedFeed> {
  const { verifyFeed } = await import('../../warehouse/feed/verify.ts');
  return withParts(app, how.signal, (parts) => verifyFeed({ ...parts, ...parts.settings }, how));
}

async function withParts<T>(
  { config, ledger, warehouse }: App,
  signal: AbortSignal,
  work: (parts: PublisherParts) => Promise<T>,
): Promise<T> {
  const { format, maxMonths, keepHours } = config.feed;
  const { readFeedFile } = await import('../../warehouse/duckdb/feed-copy.ts');
  const store = await openFeedStore(config);
  try {
    const folder = spoolFolderOf(config);
    await removeLeftCopies(folder, Date.now());
    const { warehouseId, service } = await ledger.ownership.read();
    return await work({
      store: store.under(signal),
      ledger: ledger.feed,
      tables: warehouse.feedTables,
      readFile: readFeedFile,
      owner: { warehouse: warehouseId, service: service ?? null },
      settings: {
        format,
        contract: contractSettings(config),
        maxMonths,
        keepHours,
        folder,
        filePrefix: copyPrefix,
        leaseMs,
        waitMs,
      },
      now: Date.now,
    });
  } finally {
    store.close();
  }
}

/** Throws UsageError without feed.url. */
async function openFeedStore({ feed }: Pick<Config, 'feed'>): Promise<FileStore> {
  const { url, endpoint, region, pathStyle } = feed;
  if (url === undefined) {
    throw new UsageError('feed.url is not set: there is no place for a feed', {
      hint: 'Set feed.url or WELLSYNC_FEED_URL to a folder, or to s3://BUCKET/PREFIX.',
    });
  }
  const { openStore } = await import('../../files/shared-files.ts');
  return openStore({ url, endpoint, region, pathStyle, setting: 'feed' }, (secret) => knownSecrets.addToken(secret));
}

/** Writes, reads and removes a file where the feed lies; returns the address. Throws as the calls of FileStore do. */
export async function checkFeedLocation(config: Pick<Config, 'feed'>): Promise<string> {
  const { checkStore } = await import('../../files/shared-files.ts');
  const store = await openFeedStore(config);
  try {
    return await checkStore(store);
  } finally {
    store.close();
  }
}

/** Publishes what is due where the configuration says so. A fault is logged: what is due stays due. */
export async function publishAfterRun(
  app: App,
  log: Logger,
  signal: AbortSignal,
  onTried: (address: string, fault: string | undefined) => Promise<void>,
): Promise<void> {
  const { url, afterRuns } = app.config.feed;
  if (url === undefined || !afterRuns || signal.aborted) return;
  try {
    const { isNew, ...published } = await publish(app, { all: false, signal });
    if (isNew) log.info(published, 'the feed was published');
    await onTried(url, undefined);
  } catch (error) {
    if (signal.aborted || error instanceof AbortedError || error instanceof TakenOverError) return;
    log.warn({ err: error }, 'the feed could not be published: what is due stays due');
    await onTried(url, faultOf(error).message);
  }
}

/** Does so until the signal aborts, now and then, and soon after each call of the function that it returns. */
export function keepPublishing(
  app: App,
  log: Logger,
  signal: AbortSignal,
  onTried: (address: string, fault: string | undefined) => Promise<void>,
): () => void {
  let waking = new AbortController();
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      // Of before the publication: a run that ends meanwhile wakes the next one.
      const { signal: woken } = (waking = new AbortController());
      await publishAfterRun(app, log, signal, onTried);
      await sleep(pollEveryMs, { signal: AbortSignal.any([woken, signal]), ref: false }).catch(() => undefined);
    }
  };
  void keep();
  return () => waking.abort();
}
