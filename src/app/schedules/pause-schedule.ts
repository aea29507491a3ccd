import type { StoredSchedule } from '../../warehouse/port/schedules.ts';
import type { App } from '../app.ts';

/**
 * Lets the ticks of a schedule be skipped, or with nobody in `by` be taken again. A pause that stands keeps its time and who
 * made it. A run that is under way goes on.
 */
export async function pauseSchedule(
  { ledger }: App,
  { name, paused }: StoredSchedule,
  by: string | undefined,
): Promise<void> {
  await ledger.schedules.pause(name, by === undefined ? undefined : (paused ?? { atMs: Date.now(), by }));
}
