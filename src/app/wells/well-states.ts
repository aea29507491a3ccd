/** Requests for the wells that need a look: stale ones, and ones that the service does not know. */
import { pluggedAmong } from '../../../jobs/daily-production/plan.ts';
import { dayAt } from '../../core/time/production-day.ts';
import type { StaleWell, UnknownWell, WellTrace } from '../../warehouse/port/daily-production.ts';
import type { App } from '../app.ts';
import { pluggedWellsOf } from '../job-settings.ts';

export type { StaleWell, UnknownWell, WellTrace };

/** The wells that deliver no more, by the configuration or by their bodies. */
export async function pluggedWells({
  config,
  warehouse,
}: Pick<App, 'config' | 'warehouse'>): Promise<readonly string[]> {
  return [...(await pluggedAmong(pluggedWellsOf(config), warehouse.wells))];
}

/** The wells without a new day for `freshness.warnAfterDays`, without plugged ones; of all wells if none is named. */
export async function staleWells(
  { config, warehouse }: Pick<App, 'config' | 'warehouse'>,
  { uwis, nowMs }: { readonly uwis?: readonly string[] | undefined; readonly nowMs: number },
): Promise<readonly StaleWell[]> {
  const plugged = await pluggedWells({ config, warehouse });
  const today = dayAt(nowMs, config.timeZone) ?? 0;
  const { warnAfterDays } = config.freshness;
  return among(await warehouse.coverage.staleWells({ today, warnAfterDays, plugged }), uwis);
}

/** The wells that the service does not know; of all wells if none is named. */
export async function unknownWells(
  { warehouse }: App,
  { uwis }: { readonly uwis?: readonly string[] | undefined },
): Promise<readonly UnknownWell[]> {
  return among(await warehouse.coverage.unknownWells(), uwis);
}

function among<Well extends { readonly uwi: string }>(
  wells: readonly Well[],
  uwis: readonly string[] | undefined,
): readonly Well[] {
  const named = uwis === undefined ? undefined : new Set(uwis);
  return named === undefined ? wells : wells.filter(({ uwi }) => named.has(uwi));
}
