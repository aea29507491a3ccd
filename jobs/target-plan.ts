import type { PlannedUnit } from '../src/core/run/run.ts';

/**
 * Plans a unit for each target, in order, with at most `chunkTargets` of them in a queue item. `targets` come in
 * slices.
 */
export async function planTargets(
  targets: AsyncIterable<readonly string[]>,
  chunkTargets: number,
): Promise<readonly PlannedUnit[]> {
  const units: PlannedUnit[] = [];
  for await (const slice of targets) {
    for (const target of slice) {
      units.push({ unit: units.length, chunk: Math.floor(units.length / chunkTargets), target, spec: {} });
    }
  }
  return units;
}
