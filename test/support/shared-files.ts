/** Hosts of one installation that share no folder but the warehouse's, and the place of their files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { cliHome, type CliHome } from './cli.ts';
import { s3Secret, startS3Server, type S3Server } from './s3-server.ts';

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
    return { ...placeIn(server), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  },
};

/** The place at `url`, by default a part of the store's bucket. */
export function placeIn(server: S3Server, url = `s3://${server.bucket}/etl`): Pick<PlaceUnderTest, 'env' | 'files'> {
  const env = { ...server.env, AWS_MAX_ATTEMPTS: '1', WELLSYNC_FILES_URL: url };
  return { env, files: url.startsWith('s3:') ? `{ endpoint: "${server.endpoint}" }` : '{}' };
}

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

/** Pushes a text by standard input. */
export async function pushText(host: CliHome, text: string, ...args: readonly string[]) {
  const ended = await host.run(['push', 'network-pipes', '-', '--json', ...args], { stdin: text });
  return { ...ended, runId: () => z.object({ runId: z.string() }).parse(JSON.parse(ended.stdout)).runId };
}

const endedSchema = z.object({
  state: z.string(),
  failures: z.array(z.object({ code: z.string(), message: z.string() })),
});

/** Waits for the end of a run. */
export async function endedRun(host: CliHome, runId: string): Promise<z.output<typeof endedSchema>> {
  const { stdout } = await host.run(['runs', 'show', runId, '--wait', '--json']);
  return endedSchema.parse(JSON.parse(stdout));
}

const findingsSchema = z.object({
  findings: z.array(
    z.object({ part: z.string(), status: z.string(), message: z.string(), hint: z.string().nullable() }),
  ),
});

/** A push queues nothing, and push and doctor tell the fault of the place in these words, with what to do. */
export async function expectRefusal(host: CliHome, words: string): Promise<void> {
  const refused = await pushText(host, 'sourceNetworkId,sourceId\nN,1\n');
  expect(refused.stderr).toContain(words);
  expect(refused.code).toBe(5);
  expect(refused.stderr + refused.stdout).not.toContain(s3Secret);
  expect((await host.here(['runs', 'list', '--json'])).stdout).toBe('[]\n');
  const { stdout } = await host.run(['doctor', '--json']);
  const finding = findingsSchema.parse(JSON.parse(stdout)).findings.find(({ part }) => part === 'files');
  expect(finding).toMatchObject({ status: 'failed', message: expect.stringContaining(words) });
  expect(finding?.hint).toMatch(/\.$/);
}
