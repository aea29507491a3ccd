/**
 * The targets of a cleanup, each once, the order of their deletion, and which of them produce (docs/design.md section 4.4). Pure.
 */
import { isJsonBody, type WellBody } from '../definitions/well-body.ts';

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
 * targets of one well share a chunk, even when that makes it larger than `maxTargets`. The first chunk is half as large:
 * two that are worked at once then settle at different times, and while one does, the other sends requests.
 */
export function chunkTargets(targets: readonly DeletionTarget[], maxTargets: number): readonly number[] {
  let chunk = 0;
  let size = 0;
  return targets.map((target, position) => {
    const before = targets[position - 1];
    const most = chunk === 0 ? Math.ceil(maxTargets / 2) : maxTargets;
    if (size >= most && !(before !== undefined && isOfOneWell(before, target))) {
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

// Wells that produce, which a cleanup refuses (docs/design.md section 4.4): by what the warehouse knows of their
// production within the last days. Pure.

/**
 * The last days, today among them, that may be unread: a nightly run is behind today, and two nights may have failed.
 */
export const unreadDays = 3;

/** The days in question, from an instant to now. */
export interface RecentDays {
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** What the warehouse knows of a well within the days in question. */
export interface RecentProduction {
  /** The last day with oil, gas or water, YYYY-MM-DD. */
  readonly producedOn: string | null;
  /** Whether its daily production was read on each of those days, the last {@link unreadDays} left out. */
  readonly isRead: boolean;
  /** Whether records of those days are in quarantine. */
  readonly isQuarantined: boolean;
}

/**
 * Why nobody can say that a well does not produce. `unread` and `quarantined`: it counts as producing. `unmapped`: the
 * warehouse knows no production under its id.
 */
export type ProductionUncertainty = 'unread' | 'quarantined' | 'unmapped';

export interface ProductionFinding {
  readonly producedOn: string | null;
  readonly doubt: ProductionUncertainty | null;
}

export const noFinding: ProductionFinding = { producedOn: null, doubt: null };

/**
 * The finding for a well that may go by several uwis: production under any of them counts, and so does a doubt. A well
 * that the warehouse knows under some of them alone is unread under the others. `known`: by uwi; a uwi that the
 * warehouse does not know is absent.
 */
export function findingOf(uwis: readonly string[], known: ReadonlyMap<string, RecentProduction>): ProductionFinding {
  const found = uwis.flatMap((uwi) => known.get(uwi) ?? []);
  const days = found.flatMap(({ producedOn }) => producedOn ?? []).toSorted();
  return { producedOn: days.at(-1) ?? null, doubt: uncertaintyOf(found, uwis.length) };
}

function uncertaintyOf(found: readonly RecentProduction[], uwis: number): ProductionUncertainty | null {
  if (found.length === 0) return 'unmapped';
  if (found.length < uwis || found.some(({ isRead }) => !isRead)) return 'unread';
  return found.some(({ isQuarantined }) => isQuarantined) ? 'quarantined' : null;
}

/**
 * The uwis of a well in the JSON bodies that are known of it, at the path `uwiField`; its source id where none has one.
 */
export function uwisOfWell(
  sourceId: string,
  bodies: readonly WellBody[],
  uwiField: string | undefined,
): readonly string[] {
  if (uwiField === undefined) return [sourceId];
  const named = bodies.flatMap((body) => uwiOfBody(body, uwiField) ?? []);
  return named.length === 0 ? [sourceId] : [...new Set(named)];
}

function uwiOfBody(body: WellBody, uwiField: string): string | undefined {
  if (!isJsonBody(body)) return undefined;
  let value: unknown = JSON.parse(body.body);
  for (const name of uwiField.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** How a cleanup treats wells that produce. */
export interface ProducingRule {
  /** Production within so many days counts. */
  readonly days: number;
  /** Nobody reads a warning: an unmapped well is refused too. */
  readonly isUnattended: boolean;
}

/** Why the targets of a well may not be deleted, as a sentence without a subject; undefined if they may. */
export function reasonToKeep(
  { producedOn, doubt: uncertainty }: ProductionFinding,
  { days, isUnattended }: ProducingRule,
): string | undefined {
  const within = `the last ${days === 1 ? 'day' : `${days} days`}`;
  if (producedOn !== null) return `the well produced on ${producedOn}, within ${within}`;
  if (uncertainty === 'unread') return `its production of ${within} was not read, so the well counts as producing`;
  if (uncertainty === 'quarantined') return `records of ${within} are in quarantine, so the well counts as producing`;
  if (uncertainty === 'unmapped' && isUnattended)
    return 'the warehouse knows no production under its id, so nobody can say whether the well produces';
  return undefined;
}
