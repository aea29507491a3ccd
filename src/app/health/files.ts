/** The place of the files that several hosts share, by writing, reading and removing one. */
import type { Config } from '../../../config/schema.ts';
import { createApp } from '../app.ts';
import { checked, type Finding, ok } from './finding.ts';

const lookAtFiles = { hint: 'See WELLSYNC_FILES_URL (or files.url), files.endpoint and the credentials.' };

/** None without files.url. */
export async function checkFiles(config: Config): Promise<readonly Finding[]> {
  if (config.files.url === undefined) return [];
  const finding = await checked('files', lookAtFiles, async () => {
    await using app = createApp(config);
    return ok('files', `${await app.sharedFiles?.check()}: written, read and removed`);
  });
  return [finding];
}
