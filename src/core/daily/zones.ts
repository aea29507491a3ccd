/**
 * The time zone by which rows are dated (docs/production-data.md, "Day and zone"). It is kept with them: another one in the
 * configuration, or in the record of a well, dates nothing until `wellsync warehouse rezone` has dated all rows by it.
 */
import { UsageError } from '../base/errors.ts';
import { counted } from '../base/text.ts';
import { isTimeZone, type ProductionCalendar, productionCalendar } from '../time/production-day.ts';
import { DAY_MS } from '../time/window.ts';

/** What the warehouse keeps of the zone of its rows. */
export interface KeptZone {
  /** Of all wells without one of their own; undefined before the first export. */
  readonly timeZone: string | undefined;
  /** A rezone that has begun and not ended. */
  readonly rezone: RezoneState | undefined;
}

export interface RezoneState {
  readonly to: string;
  /** Wells that are done. */
  readonly wells: number;
}

/** Throws UsageError while the rows are of two zones. */
export function checkNoRezone({ rezone }: KeptZone): void {
  if (rezone !== undefined) throw underRezone(rezone);
}

/** Throws UsageError if rows may not be dated by `configured` now. */
export function checkZone({ timeZone, rezone }: KeptZone, configured: string): void {
  checkNoRezone({ timeZone, rezone });
  if (timeZone === undefined || isSameZone(timeZone, configured)) return;
  throw new UsageError(`the rows of the warehouse are dated by ${timeZone}, and timeZone is ${configured}`, {
    hint: `Set timeZone: ${timeZone}, or date all rows by ${configured}.`,
    action: { kind: 'rezone' },
  });
}

/** Of work that needs each row under its one day. */
export function underRezone({ to, wells }: RezoneState): UsageError {
  return new UsageError(
    `the rows of the warehouse are being dated by ${to}: ${counted(wells, 'well is', 'wells are')} done, and the days of the others are of the zone before`,
    { hint: 'It goes on where it was.', action: { kind: 'rezone' } },
  );
}

/** Whether all rows are dated by it, but those of wells with a zone of their own. */
export function isDatedBy({ timeZone, rezone }: KeptZone, wanted: string): boolean {
  return rezone === undefined && timeZone !== undefined && isSameZone(timeZone, wanted);
}

/** Throws UsageError for a rezone to `to` that another process has ended meanwhile, or has taken to another zone. */
export function checkUnderWay(kept: KeptZone, to: string): void {
  const { timeZone, rezone } = kept;
  if (rezone !== undefined && isSameZone(rezone.to, to)) return;
  if (isDatedBy(kept, to)) {
    throw new UsageError('another process has dated the rows meanwhile', { hint: 'Nothing is left to do.' });
  }
  const by = rezone === undefined ? `has dated the rows by ${timeZone}` : `dates the rows by ${rezone.to}`;
  throw new UsageError(`another process ${by} meanwhile: this one has ended, and not all rows are dated by ${to}`, {
    hint: 'Give all of them one timeZone.',
    action: { kind: 'rezone' },
  });
}

export function isSameZone(one: string, other: string): boolean {
  return one === other || canonical(one) === canonical(other);
}

/** `Etc/UTC` and `UTC` are one zone under two names. */
function canonical(timeZone: string): string {
  return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
}

/** The zone of a well, if it is not the configured one, and what is to be said of it. */
export interface ZoneOfWell {
  readonly timeZone?: string;
  /** What the record of the well names, and is no time zone. */
  readonly unknownTimeZone?: string;
  /** What the record of the well names, where its rows are dated by another one. */
  readonly otherTimeZone?: string;
}

/**
 * `kept`: the zone by which the rows of the well are dated, undefined for a well that was never read; `named`: what its
 * record names.
 */
export function zoneOfWell(kept: string | undefined, named: string | undefined, configured: string): ZoneOfWell {
  const isKnown = named === undefined || isTimeZone(named);
  const wanted = named !== undefined && isKnown ? named : configured;
  const timeZone = kept ?? wanted;
  return {
    ...(isSameZone(timeZone, configured) ? {} : { timeZone }),
    ...(isKnown ? {} : { unknownTimeZone: named }),
    ...(isSameZone(timeZone, wanted) ? {} : { otherTimeZone: wanted }),
  };
}

/** The kept days of rows with one instant. Days are day numbers. */
export interface DatedInstant {
  readonly instantMs: number;
  readonly day: number | undefined;
}

/** The day of an instant in the zone, where it is another one than before. */
export function otherDayOf({ instantMs, day }: DatedInstant, timeZone: string): number | undefined {
  const next = productionCalendar(timeZone).dayNumberOf(instantMs);
  return next === day ? undefined : next;
}

/**
 * What the zone does to dates that are all midnight of UTC; undefined for other dates, and where it does nothing. A service
 * that means calendar days mostly writes them so.
 */
export function midnightNotice(instantsMs: Float64Array, timeZone: string): string | undefined {
  if (instantsMs.length === 0 || instantsMs.some((instantMs) => instantMs % DAY_MS !== 0)) return undefined;
  const calendar = productionCalendar(timeZone);
  if (instantsMs.every((instantMs) => calendar.localOf(instantMs) === instantMs)) return undefined;
  // No example: a notice of many wells is one where its words are the same.
  return `all dates are midnight UTC, and the time zone is ${timeZone}: ${effectOn(instantsMs, calendar)}. If the service means calendar days, the zone to set is UTC`;
}

function effectOn(instantsMs: Float64Array, calendar: ProductionCalendar): string {
  const before = instantsMs.filter((instantMs) => calendar.localOf(instantMs) < instantMs).length;
  if (before === 0) return 'each counts for the day of its date';
  if (before === instantsMs.length) return 'each counts for the day before its date';
  return 'those of a part of the year count for the day before their date';
}
