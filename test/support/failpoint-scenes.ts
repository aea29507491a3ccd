/** The work whose steps a test walks: small, with everything in it that can end in more than one way. */
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { deriveXid } from '../../src/testing-server/data/rows.ts';
import type { QueueKind } from '../../src/core/run/warehouse-queue.ts';
import type { TestingServer, TestingServerSetup } from '../../src/testing-server/testing-server.ts';
import { timeSeriesRecord } from './cleanup-field.ts';
import { askFile, type Row } from './failpoint-process.ts';
import { tenColumns } from './pipes.ts';

/** A folder, a warehouse, a queue and a service of one walk. */
export interface Place {
  readonly folder: string;
  readonly warehouse: string;
  readonly server: TestingServer;
  /** Works a command undisturbed; throws unless it ends with one of the codes. */
  run(args: readonly string[], codes?: readonly number[]): Promise<string>;
  /** Runs that were there before the walk. */
  readonly earlier: ReadonlySet<string>;
  /** Of the plan, or of the run, that the command names: {@link Scene.begin} finds it. */
  id: string;
}

export interface Scene {
  readonly name: string;
  readonly config?: string;
  readonly service?: TestingServerSetup;
  /** By default Redis. */
  readonly queue?: QueueKind;
  /** Variables besides those of every scene. */
  environment?(folder: string): Readonly<Record<string, string>>;
  /** What was there before, once for all walks. */
  prepare?(place: Place): Promise<void>;
  /** What only this walk can have. */
  begin?(place: Place): Promise<void>;
  args(place: Place): readonly string[];
  /** By default a run; a standing worker is stopped once this resolves. */
  readonly kind?: 'run' | 'command' | 'worker';
  isDone?(place: Place): Promise<boolean>;
  /** Its command is given again where a run of it failed: such a run is not retried. */
  readonly isRepeated?: boolean;
  /** What follows once its command has ended well. */
  finish?(place: Place): Promise<void>;
  /** What an operator does before the work is taken on. */
  mend?(place: Place): Promise<void>;
  /** What has to be the same as where nothing happened. */
  outcome?(place: Place): Promise<unknown>;
}

const day = 86_400_000;
const wells = ['15/9-F-1 C', '15/9-F-5'] as const;
/** Midnight of 32 days before today, UTC. */
const firstMs = Math.floor(Date.now() / day) * day - 32 * day;

function row(uwi: string, index: number, oilRate = index) {
  const date = new Date(firstMs + index * day).toISOString();
  return { uwi, date, oilRate, gasRate: 1, waterRate: 2, tubingPressure: 3, casingPressure: 4 };
}

const rows = wells.flatMap((uwi) => Array.from({ length: 30 }, (_, index) => row(uwi, index)));
const broken = { ...row(wells[1], 29), oilRate: 'much' };

const exportAll = ['export', 'daily-production', ...wells.flatMap((uwi) => ['--uwi', uwi])];
const exportWells = ['export', 'wells', ...wells.flatMap((well) => ['--well', well])];
const field = {
  equipment: { 'EQ 1': ['a', 'b', 'c'].map((id) => timeSeriesRecord(id)), 'EQ 2': [timeSeriesRecord('d')] },
  wells: { [wells[0]]: { microStrings: 2, wellbores: 1 }, [wells[1]]: { microStrings: 1, wellbores: 1 } },
};
const daily = { data: givenDaily([...rows.slice(0, -1), broken]), assets: field } satisfies TestingServerSetup;

const exportSettings = `
export: { chunkWells: 1, batchRows: 20, historyFrom: ${new Date(firstMs).toISOString().slice(0, 10)} }
`;

function changed(server: TestingServer, lines: readonly object[]): void {
  server.state.changeDaily(lines.map((line) => JSON.stringify(line)).join('\n'));
}

/** The last night restated two rows, corrected a broken one and brought a day. */
function nextNight({ server }: Place): void {
  const [well, other] = wells;
  changed(server, [row(well, 28, 280), row(other, 27, 270), row(other, 29), row(well, 30), row(other, 30)]);
}

/** The service no longer has the last eight of thirty days of a well: too many of the whole, in whatever months they lie. */
function lost({ server }: Place): void {
  const gone = Array.from({ length: 8 }, (_, at) => 22 + at).map((index) => ({
    uwi: wells[0],
    remove: deriveXid(wells[0], row(wells[0], index).date),
  }));
  changed(server, gone);
}

const pipeRow = (id: string, length = '1'): string => `N,${id},2024-01-01T00:00:00Z,A,B,true,[${length}],[2],[3],[4]`;
const pipesCsv = [
  tenColumns,
  ...Array.from({ length: 8 }, (_, index) => pipeRow(`P${index}`)),
  'N,wrong,yesterday,A,B,true,[1],[2],[3],[4]',
  pipeRow('refused'),
  pipeRow('P1', '7'),
  pipeRow('P8'),
  'N,wrong too,2024-01-01T00:00:00Z,A,B,perhaps,[1],[2],[3],[4]',
  pipeRow('P8', '8'),
  '',
].join('\n');
const pushSettings = 'push: { chunkItems: 3, checkpointMs: 1, concurrency: 2 }\n';
/** Two pipes fit into a body, and three do not. */
const refusing = { rejectSourceIds: ['refused'], maxBodyBytes: 450 } satisfies TestingServerSetup;

/** Each pipe with its last row; each was stored in the same form. */
function pipesAt({ server }: Place): unknown {
  const stored = server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw]);
  return stored.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1));
}

async function runIdsIn(place: Place): Promise<readonly string[]> {
  const [runs = []] = await askFile(place.warehouse, ['SELECT run_id FROM run ORDER BY run_id']);
  return runs.map((run) => String(run['run_id'])).filter((id) => !place.earlier.has(id));
}

async function pushOutcome(place: Place): Promise<unknown> {
  const [runId = ''] = await runIdsIn(place);
  return { pipes: pipesAt(place), rejects: await place.run(['runs', 'rejects', runId]) };
}

const targetsCsv = [
  'kind,well,equipment,source_id',
  'time-series,,EQ 1,a',
  'time-series,,EQ 1,b',
  `micro-strings,${wells[0]},,`,
  `wellbores,${wells[0]},,`,
  '',
].join('\n');

const planOf = ({ folder }: Place): readonly string[] => [
  'cleanup',
  '--file',
  path.join(folder, 'targets.csv'),
  '--include-producing',
  '--json',
];

async function queueWells(place: Place): Promise<void> {
  const queued = await place.run([...exportWells, '--json']);
  place.id = (JSON.parse(queued) as { runId: string }).runId;
}

async function holdRows(place: Place): Promise<void> {
  await place.run([...exportAll, '--inline'], [3]);
  lost(place);
  await place.run([...exportAll, '--inline'], [3]);
}

const inbox = (place: Place, ...names: readonly string[]): string =>
  path.join(place.folder, 'inbox', 'network-pipes', ...names);
const names = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

/** A fault of wellsync itself ended the file as failed. */
async function dropAgain(place: Place): Promise<void> {
  for (const claim of await names(inbox(place, 'failed'))) {
    await rename(inbox(place, 'failed', claim, 'pipes.csv'), inbox(place, 'pipes.csv'));
    await rm(inbox(place, 'failed', claim), { recursive: true });
  }
}

const onRedis: readonly Scene[] = [
  {
    name: 'the first export',
    config: exportSettings,
    service: daily,
    args: () => [...exportAll, '--uwi', 'gone', '--inline'],
  },
  {
    name: 'the export of the next night',
    config: exportSettings,
    service: daily,
    prepare: async (place) => void (await place.run([...exportAll, '--inline'], [3])),
    begin: async (place) => nextNight(place),
    args: () => [...exportAll, '--inline'],
  },
  {
    name: 'the export of wells',
    service: daily,
    args: () => [...exportWells, '--well', 'gone', '--inline'],
  },
  {
    name: 'the export of time series',
    service: daily,
    args: () => [
      'export',
      'time-series',
      '--equipment',
      'EQ 1',
      '--equipment',
      'EQ 2',
      '--equipment',
      'EQ 0',
      '--skip-if-running',
      '--inline',
    ],
  },
  {
    name: 'a push',
    config: pushSettings,
    service: refusing,
    begin: ({ folder }) => writeFile(path.join(folder, 'pipes.csv'), pipesCsv),
    args: ({ folder }) => ['push', 'network-pipes', path.join(folder, 'pipes.csv'), '--inline'],
    outcome: pushOutcome,
  },
  {
    name: 'a push through a folder of several hosts',
    config: pushSettings,
    service: refusing,
    environment: (folder) => ({ WELLSYNC_FILES_URL: path.join(folder, 'shared') }),
    begin: ({ folder }) => writeFile(path.join(folder, 'pipes.csv'), pipesCsv),
    args: ({ folder }) => ['push', 'network-pipes', path.join(folder, 'pipes.csv'), '--inline'],
    outcome: pushOutcome,
  },
  {
    name: 'a cleanup',
    config: 'cleanup: { maxShareOfWellsPercent: 100, chunkTargets: 2 }\n',
    service: daily,
    prepare: async (place) =>
      void (await place.run(['export', 'time-series', '--equipment', 'EQ 1', '--equipment', 'EQ 2', '--inline'])),
    begin: async (place) => {
      await writeFile(path.join(place.folder, 'targets.csv'), targetsCsv);
      place.id = (JSON.parse(await place.run(planOf(place))) as { planId: string }).planId;
    },
    args: ({ id }) => ['cleanup', '--apply', id, '--yes', '--inline'],
    outcome: async ({ server }) =>
      server.state
        .deletions()
        .map(({ kind, ownerId, sourceId = '', removed }) => `${kind} ${ownerId} ${sourceId} ${removed}`)
        .toSorted(),
  },
  {
    name: 'a release of held rows',
    config: exportSettings,
    service: daily,
    prepare: holdRows,
    begin: async (place) => {
      lost(place);
      const [held = []] = await askFile(place.warehouse, ['SELECT run_id FROM held_month']);
      place.id = String(held[0]?.['run_id']);
    },
    args: ({ id }) => ['runs', 'release', id, '--yes', '--rows', '8', '--inline'],
    isRepeated: true,
  },
  {
    name: 'a file in the inbox',
    config: `${pushSettings}inbox: { folder: inbox, settleMs: 100 }\n`,
    service: refusing,
    kind: 'worker',
    begin: async (place) => {
      await mkdir(inbox(place), { recursive: true });
      await writeFile(inbox(place, 'pipes.csv'), pipesCsv);
    },
    args: () => ['worker', '--queues', 'push'],
    isDone: async (place) =>
      (await names(inbox(place, 'done'))).length + (await names(inbox(place, 'failed'))).length > 0 &&
      (await names(inbox(place, 'working'))).length === 0,
    isRepeated: true,
    mend: dropAgain,
    outcome: async (place) => {
      const [claim = ''] = await names(inbox(place, 'done'));
      const lying = await names(inbox(place, 'done', claim));
      const rejects = lying.find((name) => /reject/.test(name)) ?? '';
      return {
        pipes: pipesAt(place),
        // What a kill left aside is hidden, and goes with the folder.
        lying: lying.filter((name) => !name.startsWith('.')).toSorted(),
        waiting: (await names(inbox(place))).filter((name) => name.endsWith('.csv')),
        working: await names(inbox(place, 'working')),
        failed: await names(inbox(place, 'failed')),
        done: (await names(inbox(place, 'done'))).length,
        rejects: await readFile(inbox(place, 'done', claim, rejects), 'utf8'),
      };
    },
  },
  {
    name: 'the publication of a feed',
    config: `${exportSettings}feed: { afterRuns: false }\n`,
    service: daily,
    environment: (folder) => ({ WELLSYNC_FEED_URL: path.join(folder, 'shared') }),
    prepare: async (place) => void (await place.run([...exportAll, '--inline'], [3])),
    args: () => ['feed', 'publish'],
    kind: 'command',
    outcome: async (place) => {
      await place.run(['feed', 'verify']);
      const folder = path.join(place.folder, 'shared');
      const manifest = JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8')) as {
        files: readonly Row[];
      };
      return manifest.files.map(({ table, month, rows: count }) => [table, month, count]);
    },
  },
  {
    name: 'the plan of a cleanup',
    config: 'cleanup: { maxShareOfWellsPercent: 100 }\n',
    service: daily,
    begin: ({ folder }) => writeFile(path.join(folder, 'targets.csv'), targetsCsv),
    args: planOf,
    kind: 'command',
    outcome: async (place) => {
      const targets = `SELECT DISTINCT ordinal, kind, owner_id, source_id, sighting FROM cleanup_target
        WHERE plan_id IN (SELECT plan_id FROM cleanup_plan) ORDER BY ordinal`;
      return [await askFile(place.warehouse, [targets]), place.server.state.deletions()];
    },
  },
  {
    name: 'the retry of a run that was refused',
    service: daily,
    begin: async (place) => {
      const { requiredToken } = place.server.state.options;
      place.server.state.setOptions({ requiredToken: 'another' });
      await place.run([...exportWells, '--inline'], [1]);
      place.server.state.setOptions({ requiredToken });
      const [runs = []] = await askFile(place.warehouse, ['SELECT run_id FROM run']);
      place.id = String(runs[0]?.['run_id']);
    },
    args: ({ id }) => ['runs', 'retry', id, '--inline'],
    kind: 'command',
  },
  {
    name: 'the cancel of a run that nobody works, and its retry',
    service: daily,
    begin: queueWells,
    args: ({ id }) => ['runs', 'cancel', id],
    kind: 'command',
    finish: async (place) => void (await place.run(['runs', 'retry', place.id, '--inline'])),
  },
  {
    name: 'rows put in order',
    config: exportSettings,
    service: daily,
    prepare: async (place) => {
      await place.run([...exportAll, '--inline'], [3]);
      nextNight(place);
      await place.run([...exportAll, '--inline']);
    },
    args: () => ['warehouse', 'optimize'],
    kind: 'command',
  },
  {
    name: 'rows dated by another zone',
    config: exportSettings,
    service: daily,
    prepare: async (place) => {
      await place.run([...exportAll, '--inline'], [3]);
      nextNight(place);
      await place.run([...exportAll, '--inline']);
    },
    begin: async ({ folder }) => {
      const file = path.join(folder, 'wellsync.yaml');
      await writeFile(file, `timeZone: America/Chicago\n${await readFile(file, 'utf8')}`);
    },
    args: () => ['warehouse', 'rezone', '--yes'],
    kind: 'command',
  },
  {
    name: 'pruning',
    config: `${exportSettings}retention: { historyDays: 30 }\n`,
    service: daily,
    prepare: async (place) => {
      await place.run([...exportAll, '--inline'], [3]);
      nextNight(place);
      await place.run([...exportAll, '--inline']);
      const ago = 'INTERVAL 1000 DAY';
      const older = [
        `UPDATE run SET requested_at = requested_at - ${ago}, started_at = started_at - ${ago}, finished_at = finished_at - ${ago}`,
        `UPDATE daily_production_history SET noticed_at = noticed_at - ${ago}, known_from = known_from - ${ago}`,
      ];
      await askFile(place.warehouse, older, 'READ_WRITE');
    },
    args: () => ['prune'],
    kind: 'command',
    outcome: async (place) => {
      const counted = ['run', 'run_unit', 'daily_production_history'].map(
        (table) => `SELECT count(*) AS n FROM ${table}`,
      );
      return askFile(place.warehouse, counted);
    },
  },
];

/** Without Redis the command works by itself, and what it leaves is proven to be nobody's. */
const embedded = ['the first export', 'the export of the next night', 'a push', 'a cleanup', 'a release of held rows'];

export const scenes: readonly Scene[] = [
  ...onRedis,
  ...onRedis
    .filter(({ name }) => embedded.includes(name))
    .map((scene) => ({ ...scene, name: `${scene.name}, without Redis`, queue: 'embedded' as const })),
];
