/** An export, a push and a cleanup under way at once by one worker, for what is done to their Redis meanwhile. */
import { z } from 'zod';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cleanupField, deletedAt } from './cleanup-field.ts';
import { cliHome } from './cli.ts';
import { pushedNetwork } from './pushed-network.ts';
import { redisPrefix } from './redis-rights.ts';
import { until } from './redis-topologies.ts';

const sizes = { wells: 160, rows: 8_000, targets: 120 } as const;
const chunkItems = 50;
const days = { from: '2025-01-01', to: '2026-01-01' } as const;

const config = `
service: { concurrency: 6, retry: { attempts: 3, baseDelayMs: 20, maxDelayMs: 100 } }
queue: { baseDelayMs: 200, maxDelayMs: 1000 }
export: { chunkWells: 4, batchRows: 2000 }
push: { chunkItems: ${chunkItems}, checkpointMs: 200, concurrency: 1 }
cleanup: { maxTargets: ${sizes.targets}, maxShareOfWellsPercent: 100, chunkTargets: 10 }
`;

const reportSchema = z.object({
  state: z.string(),
  exitCode: z.number(),
  balance: z.object({ balanced: z.boolean() }),
});
const auditSchema = z.object({ intact: z.boolean() });

/** What three runs came to: reports, and every row, pipe and deletion. */
interface Outcome {
  readonly reports: readonly unknown[];
  readonly rows: unknown;
  readonly restated: unknown;
  readonly pipes: ReadonlyMap<string, string>;
  readonly deletions: readonly string[];
  readonly audit: unknown;
  /** Lines of the worker that tell an error or hold a stack. */
  readonly faults: readonly string[];
}

type Kind = 'export' | 'push' | 'cleanup';
const kinds: readonly Kind[] = ['export', 'push', 'cleanup'];
/** What a cleanup reads is none of its deletions. */
const kindOfEndpoint: Readonly<Record<string, Kind>> = {
  'GET daily-production': 'export',
  'POST network-pipes': 'push',
  'DELETE time-series-record': 'cleanup',
  'DELETE micro-strings': 'cleanup',
  'DELETE wellbores': 'cleanup',
};

export interface RunsUnderWay extends AsyncDisposable {
  /** Resolves when each run has sent this share of its requests, or all of them. */
  reach(share: number): Promise<void>;
  /** The runs whose work is not all sent. */
  underWay(): readonly Kind[];
  /** The longest time that each run sent nothing since an instant of performance.now(): `export 4.4 s, …`. */
  standstills(sinceMs: number): string;
  /** Waits for the end of all three. */
  outcome(): Promise<Outcome>;
  readonly right: Outcome;
}

/** `redis`: the settings under `redis:`, in YAML. */
export async function startRunsUnderWay(redis: string): Promise<RunsUnderWay> {
  const field = cleanupField(sizes.targets);
  const network = pushedNetwork({ rows: sizes.rows, wrong: 0, refused: 0, repeated: 40 });
  const data = generatedDaily({ seed: 11, wells: sizes.wells, fromDay: days.from, toDay: days.to });
  const sent: Record<Kind, number[]> = { export: [], push: [], cleanup: [] };
  let counting = false;
  const server = await startTestingServer({
    data,
    assets: field.assets,
    latencyMs: 60,
    onRequest: ({ method, endpoint }) => {
      const kind = kindOfEndpoint[`${method} ${endpoint}`];
      if (counting && kind !== undefined) sent[kind].push(performance.now());
      return undefined;
    },
  });
  const home = await cliHome(server.url, { redisUrl: '', config: `${config}redis:\n${indented(redis)}` });
  const env = { WELLSYNC_QUEUE_PREFIX: redisPrefix };
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const { stdout, stderr } = await home.run([...args, '--json'], { env });
    if (stdout === '' || stdout.includes('"error"')) throw new Error(`wellsync ${args.join(' ')}: ${stdout} ${stderr}`);
    return JSON.parse(stdout);
  };
  const started = async (...args: readonly string[]): Promise<string> =>
    z.object({ runId: z.string() }).parse(await json(...args)).runId;

  const wells = await home.write('wells.csv', ['uwi', ...data.uwis.map((uwi) => `"${uwi}"`)].join('\n'));
  const pipes = await home.write('pipes.csv', network.text);
  const targets = await home.write('targets.csv', field.csv);
  const { planId } = z.object({ planId: z.string() }).parse(await json('cleanup', '--file', targets));
  const runIds: Record<Kind, string> = {
    export: await started('export', 'daily-production', '--wells', wells, '--from', days.from, '--to', days.to),
    push: await started('push', 'network-pipes', pipes),
    cleanup: await started('cleanup', '--yes', '--apply', planId),
  };
  const whole: Record<Kind, number> = {
    export: sizes.wells,
    push: sizes.rows / chunkItems,
    cleanup: sizes.targets,
  };
  counting = true;
  const worker = home.start(['worker'], { env });
  await worker.hears('Working');

  return {
    async reach(share) {
      const isBehind = (kind: Kind): boolean => sent[kind].length < share * whole[kind];
      await until(
        async () => kinds.filter(isBehind).map((kind) => `${kind}: ${sent[kind].length} of ${whole[kind]} requests`),
        (behind) => behind.length === 0,
      );
    },
    underWay: () => kinds.filter((kind) => sent[kind].length < whole[kind]),
    standstills: (sinceMs) =>
      kinds.map((kind) => `${kind} ${(longestPauseMs(sent[kind], sinceMs) / 1_000).toFixed(1)} s`).join(', '),
    async outcome() {
      const reports = await Promise.all(
        kinds.map(async (kind) => reportSchema.parse(await json('runs', 'show', runIds[kind], '--wait'))),
      );
      return {
        reports,
        rows: await json('query', 'SELECT uwi, count(*) AS n FROM daily_production GROUP BY uwi ORDER BY uwi'),
        restated: await json('query', 'SELECT count(*) AS n FROM daily_production_history'),
        pipes: new Map(server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw])),
        deletions: deletedAt(server.state.deletions()),
        audit: auditSchema.parse(await json('audit', 'verify')),
        faults: worker
          .said()
          .split('\n')
          .filter((line) => /"level":"(?:error|fatal)"|stack/.test(line)),
      };
    },
    right: {
      reports: kinds.map(() => ({ state: 'done', exitCode: 0, balance: { balanced: true } })),
      rows: data.uwis.toSorted().map((uwi) => ({ uwi, n: data.rowCount(uwi) })),
      restated: [{ n: 0 }],
      pipes: network.lastBodies,
      deletions: field.targets,
      audit: { intact: true },
      faults: [],
    },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function indented(lines: string): string {
  return lines.replaceAll(/^/gm, '  ');
}

/** The longest time without a request between `sinceMs` and the last one; zero if there was none. */
function longestPauseMs(sentMs: readonly number[], sinceMs: number): number {
  const instants = [sinceMs, ...sentMs.filter((atMs) => atMs > sinceMs)];
  return Math.max(0, ...instants.slice(1).map((atMs, place) => atMs - (instants[place] ?? atMs)));
}
