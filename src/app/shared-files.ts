/** The files that several hosts share, by the configuration. */
import type { Config } from '../../config/schema.ts';
import { filesOfPush, networkPipesJobName } from '../../jobs/network-pipes/job.ts';
import type { SharedPlace } from '../core/base/shared-place.ts';
import { SharedFiles } from '../files/shared-files.ts';
import type { Ledger } from '../warehouse/port/warehouse.ts';
import { knownSecrets } from './known-secrets.ts';
import { listedRuns } from './listed-runs.ts';
import { spoolFolderOf } from './requests/pipes-source.ts';

/** Undefined without files.url: files lie where they were pushed from. */
export function sharedFilesOf({ files, dataDir }: Config, ledger: Ledger): SharedFiles | undefined {
  const { url, endpoint, region, pathStyle } = files;
  if (url === undefined) return undefined;
  return new SharedFiles({
    open: async () => {
      const { openStore } = await import('../files/open-store.ts');
      return openStore({ url, endpoint, region, pathStyle }, (secret) => knownSecrets.addToken(secret));
    },
    warehouseId: async () => (await ledger.ownership.read()).warehouseId,
    unfinishedPlaces: () => unfinishedPlaces(ledger),
    copiesFolder: spoolFolderOf({ dataDir }),
  });
}

async function unfinishedPlaces({ runs }: Ledger): Promise<readonly SharedPlace[]> {
  const places: SharedPlace[] = [];
  for await (const { runId } of listedRuns(runs, { job: networkPipesJobName, states: ['queued', 'running'] })) {
    const { shared: file } = filesOfPush((await runs.readHead(runId))?.params);
    if (file !== undefined) places.push(file.place);
  }
  return places;
}
