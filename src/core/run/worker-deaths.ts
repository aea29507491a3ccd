/**
 * Work whose worker dies. A unit that kills its process (an answer that its memory does not hold) neither keeps the other
 * units of its item from being worked, nor is started for ever (G7). Pure.
 *
 *   together --(2 starts died)--> singly --(a unit: 3 starts alone died)--> that unit fails
 *
 * A start died if it neither ended nor settled anything. One that a person or the system killed counts as well, so that
 * several are needed.
 */
import { PermanentError } from '../base/errors.ts';

const deathsTogether = 2;
const deathsAlone = 3;

/** Whether an item with so many starts that died is worked unit by unit. */
export function isWorkedSingly(deaths: number): boolean {
  return deaths >= deathsTogether;
}

/**
 * Divides the open units of an item that is worked singly. `deaths`: starts of a unit alone that died, by its ordinal.
 * `toTry` begins with the units of which fewest died, so that the innocent ones are done first.
 */
export function judgeUnits<Unit extends { readonly unit: number }>(
  units: readonly Unit[],
  deaths: ReadonlyMap<number, number>,
): { readonly toTry: readonly Unit[]; readonly guilty: readonly Unit[] } {
  const deathsOf = ({ unit }: Unit): number => deaths.get(unit) ?? 0;
  return {
    toTry: units
      .filter((unit) => deathsOf(unit) < deathsAlone)
      .toSorted((left, right) => deathsOf(left) - deathsOf(right)),
    guilty: units.filter((unit) => deathsOf(unit) >= deathsAlone),
  };
}

/** The fault of a guilty unit. */
export function workerDied(runId: string): PermanentError {
  return new PermanentError(
    'worker-died',
    `its worker died each of the ${deathsAlone} times that it worked this alone`,
    {
      hint: 'Most likely its answers need more memory than there is: raise worker.memoryMb, and retry the run. The log of the workers says how they died.',
      action: { kind: 'retry-run', runId },
    },
  );
}
