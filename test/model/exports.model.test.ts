/**
 * Exports of daily production, against a service that restates, removes, adds late and shifts its pages while they read. After
 * each command every guarantee is asked (export-guarantees.ts); in the end all has ended, and a last read finds the truth.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDailyProductionJobs } from '../../jobs/daily-production/job.ts';
import type { DailyProductionSettings } from '../../jobs/daily-production/settings.ts';
import { anyJob } from '../../src/runs/job.ts';
import { dailyProductionSettings } from '../support/export-settings.ts';
import type { QueueKind } from '../../src/core/run/warehouse-queue.ts';
import { expectForAllModels, modelTimeoutMs, queues } from '../support/model-runs.ts';
import { dayMs, exportCommands, type ExportScene, type Field, requestExport } from './export-commands.ts';
import { exportViolations, type Reached, rowViolations } from './export-guarantees.ts';
import { baseUrl, type Paging, Truth } from './truth.ts';
import {
  cancelled,
  copied,
  endsAll,
  killed,
  lost,
  passed,
  pruned,
  retried,
  started,
  steps,
  suspended,
  takenOver,
} from './world-commands.ts';
import { secretsAnywhere } from './world-guarantees.ts';
import { World } from './world.ts';

const firstDayMs = Date.UTC(2026, 1, 20);
const paging = fc.record({ firstPage: fc.constantFrom<0 | 1>(0, 1), mostRows: fc.integer({ min: 3, max: 9 }) });

test.each(queues)(
  'G1 G2 G3 G4 G7 G10 G11: exports hold whatever comes between any two of their steps (queue: $queue)',
  async ({ queue, runs }) => {
    const field: Field = { wells: ['W1', 'W2', 'W3'], firstDayMs, days: 18 };
    const of = exportCommands(field);
    const usual = [steps(120), steps(120), steps(120), steps(120), of.exported, of.exported, of.exported, of.restated];
    const rare = [
      of.restated,
      of.removed,
      of.faulty,
      of.released,
      of.broken,
      of.broken,
      of.forgotten,
      of.judged,
      cancelled,
      retried,
      started,
      killed,
      suspended,
      ...(queue === 'redis' ? [lost] : []),
      copied,
      pruned,
      takenOver,
    ];
    await expectForAllModels(
      fc.asyncProperty(
        fc.scheduler(),
        paging,
        fc.array(of.record, { maxLength: 40 }),
        fc.record({ broken: fc.array(of.record, { maxLength: 3 }), unknown: fc.subarray([...field.wells]) }),
        longScript([...usual, ...rare, passed, passed]),
        (scheduler, pages, history, wrong, script) =>
          modelled({ field, scheduler, pages, history, wrong, script, processes: 1, queue }),
      ),
      runs({ usual: 3, full: 8 }),
    );
  },
  modelTimeoutMs,
);

test(
  'G1 G3: after any order of the steps of runs of one well, its rows are those of the read that began last',
  async () => {
    const field: Field = { wells: ['W1'], firstDayMs, days: 5 };
    const of = exportCommands(field);
    const halting = [suspended, suspended, suspended];
    const usual = [steps(40), steps(40), steps(40), of.exported, of.exported, of.restated, of.restated];
    await expectForAllModels(
      fc.asyncProperty(
        fc.scheduler(),
        paging,
        fc.array(of.record, { maxLength: 8 }),
        longScript([...usual, ...halting, of.removed, passed]),
        (scheduler, pages, history, script) => modelled({ field, scheduler, pages, history, script, processes: 3 }),
      ),
      { usual: 4, full: 12 },
    );
  },
  modelTimeoutMs,
);

/** Most of what is found takes many commands: short scripts would come first. */
function longScript(commands: readonly fc.Arbitrary<fc.AsyncCommand<object, ExportScene>>[]) {
  return fc.noBias(fc.commands([...commands], { maxCommands: 60, size: 'max' }));
}

const settings: DailyProductionSettings = {
  ...dailyProductionSettings,
  historyFromMs: firstDayMs,
  lookback: [{ days: 4 }],
  holeDays: 10,
  shrink: { maxShare: 0.3, maxRows: 1, maxRowsPerRun: 100 },
  chunkWells: 2,
  batchRows: 8,
  pageLimit: 100,
  wellConcurrency: 2,
};

async function modelled(of: {
  readonly field: Field;
  readonly scheduler: fc.Scheduler;
  readonly pages: Paging;
  readonly history: ReadonlyArray<readonly [uwi: string, day: number]>;
  /** From the start: records that break the contract, and wells that are answered with 404. */
  readonly wrong?: {
    readonly broken: ReadonlyArray<readonly [uwi: string, day: number]>;
    readonly unknown: readonly string[];
  };
  readonly script: Iterable<fc.AsyncCommand<object, ExportScene>>;
  readonly processes: number;
  readonly queue?: QueueKind;
}): Promise<void> {
  const {
    field,
    scheduler,
    pages,
    history,
    wrong = { broken: [], unknown: [] },
    script,
    processes,
    queue = 'redis',
  } = of;
  const truth = new Truth(pages);
  for (const [uwi, day] of [...history, ...wrong.broken]) truth.put(uwi, dayMs(field, day));
  for (const [uwi, day] of wrong.broken) truth.breakRecord(uwi, dayMs(field, day));
  for (const uwi of wrong.unknown) truth.unknown.add(uwi);
  await using world = await World.open({
    scheduler,
    serviceUrl: baseUrl,
    service: truth.client.bind(truth),
    jobs: () => createDailyProductionJobs(settings).map(anyJob),
    chunkQueues: ['export'],
    queue,
  });
  const reached: Reached = new Map();
  const scene: ExportScene = {
    world,
    truth,
    violations: () => exportViolations(world, truth, reached),
    violationsOfCopy: (copy) => rowViolations(copy, truth, reached),
  };
  for (let each = 0; each < processes; each += 1) world.start(0);
  while (!world.processes.every((each) => each.isWorking())) await world.step();
  await fc.asyncModelRun(() => ({ model: {}, real: scene }), script);
  truth.faults = 0;
  truth.mend();
  const last = await endsAll(scene);
  const everything = { allowShrink: true, fromMs: firstDayMs, toMs: dayMs(field, field.days) };
  requestExport(scene, last, field.wells, everything);
  await world.finish();
  expect([...(await scene.violations()), ...(await secretsAnywhere(world))]).toEqual([]);
  expect(await storedIn(world)).toEqual(truth.rows);
}

function storedIn(world: World) {
  return world.rows<{ xid: string; oilRate: number }>(
    'SELECT xid::VARCHAR AS xid, oil_rate AS "oilRate" FROM daily_production ORDER BY xid',
  );
}
