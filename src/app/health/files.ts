/** The places of the files that several hosts share, and of the feed, by writing, reading and removing one. */
import path from 'node:path';
import type { Config } from '../../../config/schema.ts';
import { folderOfAddress } from '../../files/open-store.ts';
import { createApp } from '../app.ts';
import { checkFeedPlace } from '../feed.ts';
import { linkFindings, namedItself } from './disk.ts';
import { checked, type Finding, ok } from './finding.ts';

const lookAtFiles = { hint: 'See WELLSYNC_FILES_URL (or files.url), files.endpoint and the credentials.' };

const lookAtFeed = { hint: 'See WELLSYNC_FEED_URL (or feed.url), feed.endpoint and the credentials.' };

/** One for files.url and one for feed.url, where they are set. */
export async function checkFiles(config: Config): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  if (config.files.url !== undefined) {
    const finding = await checked('files', lookAtFiles, async () => {
      await using app = createApp(config);
      return used('files', `${await app.sharedFiles?.check()}`);
    });
    findings.push(finding, ...(await linksOf('files', config.files.url)));
  }
  if (config.feed.url !== undefined) {
    findings.push(await checked('feed', lookAtFeed, async () => used('feed', await checkFeedPlace(config))));
    findings.push(...(await linksOf('feed', config.feed.url)));
  }
  return findings;
}

/** None for a store that is no folder. */
async function linksOf(part: 'files' | 'feed', url: string): Promise<readonly Finding[]> {
  const folder = folderOfAddress(url);
  return folder === undefined ? [] : linkFindings(part, path.resolve(folder), namedItself(`${part}.url`));
}

function used(part: string, address: string): Finding {
  return ok(part, `${address}: written, read and removed`);
}
