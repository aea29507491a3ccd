/** Wells that deliver no more: never stale, and complete with their last day. */
import type { WellStore } from '../../src/warehouse/port/definitions.ts';
import type { PluggedWells } from './settings.ts';

/** The plugged wells among these, or all of them if none is named. */
export async function pluggedAmong(
  { uwis: named, byField }: PluggedWells,
  wells: Pick<WellStore, 'texts'>,
  uwis?: readonly string[],
): Promise<ReadonlySet<string>> {
  if (byField === undefined) return named;
  const texts = await wells.texts(byField.field, uwis);
  const found = [...texts].filter(([, value]) => byField.values.has(value.toLowerCase()));
  return new Set([...named, ...found.map(([uwi]) => uwi)]);
}
