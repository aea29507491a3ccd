/** What may happen in a model of exports, beside what may happen in any world. */
import fc from 'fast-check';
import { dailyProductionJobName } from '../../jobs/daily-production/job.ts';
import type { DailyProductionParams } from '../../jobs/daily-production/settings.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import type { Truth } from './truth.ts';
import { Act, actor, oneOf, type Scene, someIndex, working } from './world-commands.ts';
import type { WorldProcess } from './world.ts';

export interface ExportScene extends Scene {
  readonly truth: Truth;
}

export interface Field {
  readonly wells: readonly string[];
  readonly firstDayMs: number;
  readonly days: number;
}

export function dayMs({ firstDayMs }: Pick<Field, 'firstDayMs'>, day: number): number {
  return firstDayMs + day * DAY_MS;
}

/** Requests an export by a process. Returns the id of its run. */
export function requestExport(
  { world }: Scene,
  { runs }: WorldProcess,
  targets: readonly string[],
  params: Partial<DailyProductionParams>,
): string {
  const all = { nowMs: world.nowMs, allowShrink: false, ...params };
  return world.request((runId) => runs.start(dailyProductionJobName, all, { actor, runId, targets }));
}

export function exportCommands(field: Field) {
  const well = fc.constantFrom(...field.wells);
  const someDay = fc.nat({ max: field.days - 1 });
  return {
    record: fc.tuple(well, someDay),
    exported: fc
      .record({
        targets: fc.subarray([...field.wells], { minLength: 1 }),
        bounds: fc.option(fc.tuple(someDay, someDay), { nil: undefined }),
        allowShrink: fc.boolean(),
        by: someIndex,
      })
      .map(({ targets, bounds, allowShrink, by }) => {
        const [first, last] = (bounds ?? []).toSorted((left, right) => left - right);
        const isBackfill = first !== undefined && last !== undefined;
        const range = isBackfill ? { fromMs: dayMs(field, first), toMs: dayMs(field, last + 1) } : {};
        const name = `export ${targets.join(', ')}${isBackfill ? ` days ${first} to ${last}` : ''}`;
        return new Act<ExportScene>(`${name}${allowShrink ? ', whatever leaves' : ''}`, (scene) => {
          const process = working(scene, by);
          if (process !== undefined) requestExport(scene, process, targets, { allowShrink, ...range });
        });
      }),
    restated: fc
      .tuple(well, someDay)
      .map(
        ([uwi, day]) =>
          new Act<ExportScene>(`the service has ${uwi} day ${day} anew`, ({ truth }) =>
            truth.put(uwi, dayMs(field, day)),
          ),
      ),
    removed: fc.tuple(well, someDay, fc.integer({ min: 1, max: 4 })).map(
      ([uwi, first, many]) =>
        new Act<ExportScene>(`the service loses ${many} days of ${uwi} from day ${first}`, ({ truth }) => {
          for (let day = first; day < Math.min(field.days, first + many); day += 1)
            truth.remove(uwi, dayMs(field, day));
        }),
    ),
    broken: fc
      .tuple(well, someDay)
      .map(
        ([uwi, day]) =>
          new Act<ExportScene>(`the record of ${uwi} day ${day} breaks the contract`, ({ truth }) =>
            truth.breakRecord(uwi, dayMs(field, day)),
          ),
      ),
    forgotten: fc
      .tuple(well, fc.boolean())
      .map(
        ([uwi, isKnown]) =>
          new Act<ExportScene>(
            `the service ${isKnown ? 'knows' : 'does not know'} ${uwi}`,
            ({ truth }) => void (isKnown ? truth.unknown.delete(uwi) : truth.unknown.add(uwi)),
          ),
      ),
    judged: fc.tuple(someIndex, fc.constantFrom<'accept' | 'acknowledge'>('accept', 'acknowledge')).map(
      ([index, act]) =>
        new Act<ExportScene>(`a person says ${act} of alert ${index}`, async ({ world }) => {
          const { alerts } = world.warehouse.ledger;
          const { alerts: open } = await alerts.list({ limit: 100, nowMs: world.nowMs, states: ['open'] });
          const alert = oneOf(open, index);
          if (alert === undefined) return;
          const said = { ids: [alert.id], by: actor, because: 'it is known', atMs: world.nowMs };
          if (act === 'accept') await alerts.accept(said);
          else await alerts.acknowledge({ ...said, untilMs: undefined });
        }),
    ),
    faulty: fc
      .integer({ min: 1, max: 3 })
      .map(
        (many) =>
          new Act<ExportScene>(`the service answers ${many} requests with 503`, ({ truth }) => (truth.faults = many)),
      ),
    released: fc.tuple(someIndex, someIndex).map(
      ([run, by]) =>
        new Act<ExportScene>(`release what run ${run} holds`, async (scene) => {
          const [runId, process] = [oneOf(scene.world.requested, run), working(scene, by)];
          if (runId === undefined || process === undefined) return;
          const { rows } = await scene.world.warehouse.ledger.holds.ofRun(runId, 'uwi', 10);
          scene.world.tell(process.runs.release(runId, rows, { actor }));
        }),
    ),
  };
}
