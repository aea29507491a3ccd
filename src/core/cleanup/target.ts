/** The targets of a cleanup, each once, and the order of their deletion (docs/design.md section 4.4). Pure. */

/** In the order of deletion. */
export const targetKinds = ['time-series', 'micro-strings', 'wellbores'] as const;
export type TargetKind = (typeof targetKinds)[number];

/** One deletion that the service offers (docs/interface.md sections 4.3 to 4.5). */
export interface DeletionTarget {
  readonly kind: TargetKind;
  /** Source id of the equipment for a time series; otherwise of the well. */
  readonly ownerId: string;
  /** Source id of a time series record; null for the kinds that cover a whole well. */
  readonly sourceId: string | null;
}

/** `time series T of equipment E`, `wellbores of well W`. */
export function targetText({ kind, ownerId, sourceId }: DeletionTarget): string {
  return kind === 'time-series'
    ? `time series ${sourceId} of equipment ${ownerId}`
    : `${kindText(kind)} of well ${ownerId}`;
}

/** `time series`, `micro strings`, `wellbores`. */
export function kindText(kind: TargetKind): string {
  return kind.replace('-', ' ');
}

/**
 * Each target once, in the order of deletion: all time series in the order of the request, then for each well its micro
 * strings and its wellbores. The targets of a well are adjacent, so that one chunk can hold them.
 */
export function orderTargets(named: readonly DeletionTarget[]): readonly DeletionTarget[] {
  const distinct = [...new Map(named.map((target) => [keyOf(target), target])).values()];
  const ofWells = distinct.filter((target) => !isTimeSeries(target));
  const order = new Map(wellsOf(ofWells).map((well, index) => [well, index]));
  const inOrder = ofWells.toSorted(
    (left, right) =>
      (order.get(left.ownerId) ?? 0) - (order.get(right.ownerId) ?? 0) ||
      targetKinds.indexOf(left.kind) - targetKinds.indexOf(right.kind),
  );
  return [...distinct.filter(isTimeSeries), ...inOrder];
}

function keyOf({ kind, ownerId, sourceId }: DeletionTarget): string {
  return JSON.stringify([kind, ownerId, sourceId]);
}

export function isTimeSeries({ kind }: DeletionTarget): boolean {
  return kind === 'time-series';
}

/**
 * The chunk number of each target, from 0, in the order of {@link orderTargets}. Chunks are worked concurrently, so the
 * targets of one well share a chunk, even when that makes it larger than `maxTargets`.
 */
export function chunkTargets(targets: readonly DeletionTarget[], maxTargets: number): readonly number[] {
  let chunk = 0;
  let size = 0;
  return targets.map((target, position) => {
    const before = targets[position - 1];
    if (size >= maxTargets && !(before !== undefined && isOfOneWell(before, target))) {
      chunk += 1;
      size = 0;
    }
    size += 1;
    return chunk;
  });
}

function isOfOneWell(left: DeletionTarget, right: DeletionTarget): boolean {
  return !isTimeSeries(left) && !isTimeSeries(right) && left.ownerId === right.ownerId;
}

/** The distinct wells among the owners of targets. */
export function wellsOf(targets: readonly DeletionTarget[]): readonly string[] {
  return [...new Set(targets.filter((target) => !isTimeSeries(target)).map((target) => target.ownerId))];
}

/** The distinct pieces of equipment among the owners of targets. */
export function equipmentOf(targets: readonly DeletionTarget[]): readonly string[] {
  return [...new Set(targets.filter(isTimeSeries).map((target) => target.ownerId))];
}
