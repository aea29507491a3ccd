/**
 * The profile of a service: how it numbers pages, grants limits, takes dates and orders rows, which its interface does
 * not show (docs/design.md section 3), each with the evidence.
 */
import type { PagingFindings } from './chain-and-passes.ts';

/** Number of the first page. */
export type PageBase = 0 | 1;
export type OffPages = 'empty' | 'not-found' | 'refused';
export type BoundKind = 'inclusive' | 'exclusive' | 'ignored';
export type RowOrder = 'ascending' | 'descending' | 'none';
export type Unknown = 'unknown';

/** One finding as text, for the operator's table. */
export interface ProfileEvidence {
  readonly finding: string;
  readonly value: string;
  readonly evidence: string;
}

export interface ServiceProfile {
  /** Address of the service, without user and password. */
  readonly baseUrl: string;
  readonly probedAtMs: number;
  /** UWI of the probed well. */
  readonly uwi: string;
  readonly pageBase: PageBase | Unknown;
  /** Answer to a page below the first. */
  readonly belowFirst: OffPages | 'first-page' | Unknown;
  /** Answer to a page past the last. */
  readonly pastLast: OffPages | 'last-page' | Unknown;
  readonly pagingHonoured: boolean | Unknown;
  readonly limitHonoured: boolean | Unknown;
  /** Rows of a page when no limit is sent. */
  readonly defaultLimit: number | Unknown;
  /** Most rows seen on a page, or the largest tried limit that was not refused. */
  readonly maxLimit: number | Unknown;
  /** Most rows seen on one page that a limit was sent for, by the probe or by a read since. */
  readonly largestPage: number | Unknown;
  /** Answer to a limit above `maxLimit`. */
  readonly overMaxLimit: 'clamped' | 'refused' | Unknown;
  readonly startBound: BoundKind | Unknown;
  readonly endBound: BoundKind | Unknown;
  /** Order of the rows by date. */
  readonly order: RowOrder | Unknown;
  /** Whether the same request returned its rows in the same order again. */
  readonly orderStable: boolean | Unknown;
  readonly evidence: readonly ProfileEvidence[];
}

/** Summary of the profile in one line, for notices. */
export function summaryOf(profile: ServiceProfile): string {
  const { uwi, pageBase, maxLimit, overMaxLimit, pagingHonoured, limitHonoured, order } = profile;
  // When larger limits are refused, only the usual ones were tried.
  const largest = overMaxLimit === 'refused' ? 'a limit is granted that is as large as' : 'the largest limit is';
  const known = [
    pagingHonoured === false ? 'page is ignored' : phrase('the first page is', pageBase),
    limitHonoured === false ? 'limit is ignored' : phrase(largest, maxLimit),
    phrase('order by date:', order),
  ];
  const text = known.filter((each) => each !== '').join(', ');
  return `${text === '' ? 'nothing could be told' : text} (asked of ${uwi})`;
}

function phrase(what: string, value: number | string): string {
  return value === 'unknown' ? '' : `${what} ${value}`;
}

/** The limit to request: the wanted one, but no more than the service is known to grant. */
export function limitFor(profile: ServiceProfile | undefined, wanted: number): number {
  return profile !== undefined && isLimitKnown(profile) ? Math.min(wanted, profile.maxLimit) : wanted;
}

/** Rows that the service is known to send on one page when it has them; 0 if that is unknown. */
export function knownPageRows({ maxLimit, largestPage }: Pick<ServiceProfile, 'maxLimit' | 'largestPage'>): number {
  if (maxLimit !== 'unknown') return maxLimit;
  return largestPage === 'unknown' ? 0 : largestPage;
}

/** What a read found of the service. */
export interface ReadFindings extends PagingFindings {
  readonly limitRefused: boolean;
}

/**
 * The profile, with `unknown` for what a read just before the probe found otherwise. Such a service answers now so, now
 * so (one that repeats rows over its pages, for example): every read would contradict its profile, and every run would
 * probe it again.
 */
export function withoutContradictions(profile: ServiceProfile, found: ReadFindings): ServiceProfile {
  const { pageBase, pagingHonoured, limitHonoured } = profile;
  return {
    ...profile,
    ...(differ(pageBase, found.pageBase) ? { pageBase: 'unknown' } : {}),
    ...(differ(pagingHonoured, found.pagingHonoured) ? { pagingHonoured: 'unknown' } : {}),
    ...(differ(limitHonoured, found.limitHonoured) ? { limitHonoured: 'unknown' } : {}),
    ...(isOtherLimit(profile, found) ? { maxLimit: 'unknown', largestPage: 'unknown', overMaxLimit: 'unknown' } : {}),
  };
}

function isOtherLimit(profile: ServiceProfile, { limitRefused, grantedLimit }: ReadFindings): boolean {
  return isBelow(grantedLimit, profile) || (limitRefused && isLimitKnown(profile));
}

/**
 * The profile with a larger page that a read has seen; undefined when nothing is learnt: the largest limit is known, or
 * the page is less than twice as large, so that a profile is stored anew only a few times.
 */
export function withLargerPage(profile: ServiceProfile, { pageRows }: PagingFindings): ServiceProfile | undefined {
  const isLarger = pageRows !== undefined && pageRows >= 2 * knownPageRows(profile);
  return isLarger && profile.maxLimit === 'unknown' && profile.limitHonoured === true
    ? { ...profile, largestPage: pageRows }
    : undefined;
}

/** Differences between the profile and what a read found, one sentence each; empty when the profile matches. */
export function misfitsOf(profile: ServiceProfile, found: ReadFindings): readonly string[] {
  const { pageBase, pagingHonoured, limitHonoured } = profile;
  const misfits: string[] = [];
  if (differ(pageBase, found.pageBase)) misfits.push(`its first page is ${found.pageBase}, not ${pageBase}`);
  if (differ(pagingHonoured, found.pagingHonoured)) misfits.push(honouredSentence('page', found.pagingHonoured));
  if (differ(limitHonoured, found.limitHonoured)) misfits.push(honouredSentence('limit', found.limitHonoured));
  if (found.limitRefused && isLimitKnown(profile)) misfits.push('it refuses a limit that it granted');
  if (isBelow(found.grantedLimit, profile))
    misfits.push(`it grants a limit of ${found.grantedLimit}, not ${knownPageRows(profile)}`);
  return misfits;
}

function isBelow(granted: number | undefined, profile: ServiceProfile): boolean {
  return granted !== undefined && granted < knownPageRows(profile);
}

/** Whether the service is known to grant `maxLimit` and no more. */
function isLimitKnown(profile: ServiceProfile): profile is ServiceProfile & { readonly maxLimit: number } {
  return profile.maxLimit !== 'unknown' && profile.overMaxLimit !== 'unknown';
}

function differ<T>(known: T | Unknown, found: T | undefined): boolean {
  return known !== 'unknown' && found !== undefined && known !== found;
}

function honouredSentence(parameter: string, isHonoured: boolean | undefined): string {
  return isHonoured === true ? `it honours ${parameter} now` : `it no longer honours ${parameter}`;
}
