/** Units of a batch whose windows were cut where later reads stand (core/daily/read-order.ts). */
import { grouped } from '../../../core/base/grouped.ts';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import {
  joined,
  mayReadAgain,
  orderedBy,
  type OrderedWindow,
  outcomeOfParts,
  unfinishedUnit,
} from '../../../core/daily/read-order.ts';
import type { UnitOutcome } from '../../../core/run/run.ts';
import type { CommittedBatch } from '../../port/daily-production.ts';
import type { KeptRead } from '../reads/read-order.ts';

/** A unit of which something is merged or has to be read again. */
export interface MergedUnit<Part extends WindowBatch> {
  readonly batch: WindowBatch;
  /** Those that are merged. */
  readonly parts: readonly Part[];
  /** Those in which a later read stands. */
  readonly left: readonly OrderedWindow[];
  /** Whether its window was cut. */
  readonly isCut: boolean;
}

/** Names a part among those of a batch. */
export function placeOf({ unit, window }: WindowBatch): string {
  return `${unit} from ${window.fromMs}`;
}

/** The units of `windows` but those that are `unread`; all others of their `cut` parts but the `merged` ones are left. */
export function unitsOf<Part extends WindowBatch>(
  windows: readonly WindowBatch[],
  cut: readonly OrderedWindow[],
  merged: readonly Part[],
  unread: ReadonlySet<number>,
): readonly MergedUnit<Part>[] {
  const taken = new Set(merged.map(placeOf));
  const partsByUnit = grouped(merged, ({ unit }) => String(unit));
  const cutByUnit = grouped(cut, ({ unit }) => String(unit));
  return windows.flatMap((batch) => {
    if (unread.has(batch.unit)) return [];
    const own = cutByUnit.get(String(batch.unit)) ?? [];
    const left = own.filter((part) => !taken.has(placeOf(part)));
    const isCut = own.some(({ isInLater }) => isInLater);
    return [{ batch, parts: partsByUnit.get(String(batch.unit)) ?? [], left, isCut }];
  });
}

/** The outcomes of the units that are settled, and what has to be read again of the others; `outcomes` by merged part. */
export function committedUnits<Part extends WindowBatch>(
  units: readonly MergedUnit<Part>[],
  outcomes: ReadonlyMap<Part, UnitOutcome>,
): CommittedBatch {
  const settled: UnitOutcome[] = [];
  const unfinished: CommittedBatch['unfinished'][number][] = [];
  for (const { batch, parts, left, isCut } of units) {
    const merged = parts.flatMap((part) => outcomes.get(part) ?? []);
    const outcome = isCut ? outcomeOfParts(batch, merged, left) : joined([...beforeOf(batch), ...merged]);
    if (left.length > 0 && mayReadAgain(batch)) unfinished.push(unfinishedUnit(batch, left, outcome));
    else settled.push(outcome);
  }
  return { outcomes: settled, unfinished };
}

function beforeOf({ before }: WindowBatch): readonly UnitOutcome[] {
  return before === undefined ? [] : [before.outcome];
}

/** What a merged part orders. */
export function keptPart(part: WindowBatch): readonly KeptRead[] {
  const window = orderedBy(part);
  return window === undefined ? [] : [{ target: part.uwi, window }];
}
