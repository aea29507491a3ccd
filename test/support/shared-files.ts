/** Hosts of one installation that share no folder but the warehouse's, and the place of their files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cliHome, type CliHome } from './cli.ts';
import { startS3Server } from './s3-server.ts';

export interface PlaceUnderTest extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** The setting `files`, as YAML. */
  readonly files: string;
}

export const sharedPlaces = {
  'a shared folder': async (): Promise<PlaceUnderTest> => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-shared-'));
    return {
      env: { WELLSYNC_FILES_URL: `file://${folder}` },
      files: '{}',
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
    };
  },
  'an S3-compatible store': async (): Promise<PlaceUnderTest> => {
    const server = await startS3Server();
    return {
      env: { ...server.env, WELLSYNC_FILES_URL: `s3://${server.bucket}/etl` },
      files: `{ endpoint: "${server.endpoint}" }`,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

const settings = `
service: { retry: { attempts: 3, baseDelayMs: 20, maxDelayMs: 100 } }
queue: { baseDelayMs: 100, maxDelayMs: 400 }
push: { chunkItems: 100, checkpointMs: 100, concurrency: 4 }
`;

/** A host with a working folder and a data folder of its own, and the warehouse and the queue of `first`. */
export async function hostOf(
  place: Pick<PlaceUnderTest, 'env' | 'files'>,
  serviceUrl: string,
  first?: CliHome,
): Promise<CliHome> {
  const home = await cliHome(serviceUrl, { config: `files: ${place.files}\n${settings}` });
  const { WELLSYNC_WAREHOUSE = `duckdb:${home.warehouseFile}`, WELLSYNC_QUEUE_PREFIX = '' } = first?.env ?? home.env;
  Object.assign(home.env, place.env, { WELLSYNC_WAREHOUSE, WELLSYNC_QUEUE_PREFIX });
  return home;
}
