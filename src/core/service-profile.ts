/**
 * Owns what is known of a service that its interface does not show (DESIGN.md section 3): how it numbers its pages, what
 * limits it grants, how it takes dates and in which order it sends rows, each with the evidence; and the form in which a
 * profile is kept.
 */
import type { PagingFindings } from './paging.ts';

/** `page` 0 or 1 is the first page. */
export type PageBase = 0 | 1;
export type OffPages = 'empty' | 'not-found' | 'refused';
export type BoundKind = 'inclusive' | 'exclusive' | 'ignored';
export type RowOrder = 'ascending' | 'descending' | 'none';
export type Unknown = 'unknown';

/** One finding in words, for the operator's table. */
export interface ProfileEvidence {
  readonly finding: string;
  readonly value: string;
  readonly evidence: string;
}

export interface ServiceProfile {
  /** Address without secrets. */
  readonly baseUrl: string;
  readonly probedAtMs: number;
  /** The well that was asked for. */
  readonly uwi: string;
  readonly pageBase: PageBase | Unknown;
  /** What a page below the first answers. */
  readonly belowFirst: OffPages | 'first-page' | Unknown;
  /** What a page past the last answers. */
  readonly pastLast: OffPages | 'last-page' | Unknown;
  readonly pagingHonoured: boolean | Unknown;
  readonly limitHonoured: boolean | Unknown;
  /** Rows on a page when no limit is sent. */
  readonly defaultLimit: number | Unknown;
  /** The most rows that a page was seen to have, or the largest limit found that is not refused. */
  readonly maxLimit: number | Unknown;
  /** What becomes of a larger limit. */
  readonly overMaxLimit: 'clamped' | 'refused' | Unknown;
  readonly startBound: BoundKind | Unknown;
  readonly endBound: BoundKind | Unknown;
  /** Order of the rows by date. */
  readonly order: RowOrder | Unknown;
  /** Whether the same question had its rows in the same order again. */
  readonly orderStable: boolean | Unknown;
  readonly evidence: readonly ProfileEvidence[];
}

/** Raised whenever the kept form changes; a profile of another version is probed anew. */
const version = 1;

/** The kept form: JSON with its version first, its members always in the same order. */
export function encodeProfile(profile: ServiceProfile): string {
  const members = memberNames.map((name) => [name, profile[name]] as const);
  const evidence = profile.evidence.map(({ finding, value, evidence: words }) => ({ finding, value, evidence: words }));
  return JSON.stringify({ version, ...Object.fromEntries(members), evidence });
}

/** Undefined for a profile of another version, or what is none: the service is probed again then. */
export function decodeProfile(text: string): ServiceProfile | undefined {
  const value = parsed(text);
  if (!isObject(value) || value['version'] !== version) return undefined;
  const { version: _version, ...members } = value;
  return isProfile(members) ? members : undefined;
}

const offPages = ['empty', 'not-found', 'refused', 'unknown'] as const;
const bounds = ['inclusive', 'exclusive', 'ignored', 'unknown'];
const honoured = [true, false, 'unknown'];

/** What each member may be; the order is that of the kept form. */
const members: Readonly<Record<Exclude<keyof ServiceProfile, 'evidence'>, (value: unknown) => boolean>> = {
  baseUrl: isText,
  probedAtMs: Number.isFinite,
  uwi: isText,
  pageBase: oneOf([0, 1, 'unknown']),
  belowFirst: oneOf([...offPages, 'first-page']),
  pastLast: oneOf([...offPages, 'last-page']),
  pagingHonoured: oneOf(honoured),
  limitHonoured: oneOf(honoured),
  defaultLimit: isCountOrUnknown,
  maxLimit: isCountOrUnknown,
  overMaxLimit: oneOf(['clamped', 'refused', 'unknown']),
  startBound: oneOf(bounds),
  endBound: oneOf(bounds),
  order: oneOf(['ascending', 'descending', 'none', 'unknown']),
  orderStable: oneOf(honoured),
};
const memberNames = Object.keys(members) as readonly (keyof typeof members)[];

function isProfile(value: object): value is ServiceProfile {
  const { evidence, ...others } = value as Readonly<Record<string, unknown>>;
  const isWhole = memberNames.every((name) => members[name](others[name]));
  return isWhole && Array.isArray(evidence) && evidence.every(isEvidence);
}

function isEvidence(value: unknown): value is ProfileEvidence {
  return isObject(value) && isText(value['finding']) && isText(value['value']) && isText(value['evidence']);
}

function oneOf(values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

function isCountOrUnknown(value: unknown): boolean {
  return value === 'unknown' || (Number.isInteger(value) && Number(value) > 0);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What exports go by, in a line. */
export function summaryOf(profile: ServiceProfile): string {
  const { uwi, pageBase, maxLimit, overMaxLimit, pagingHonoured, limitHonoured, order } = profile;
  // Where larger ones are refused, only the usual ones were tried.
  const largest = overMaxLimit === 'refused' ? 'a limit is granted that is as large as' : 'the largest limit is';
  const known = [
    pagingHonoured === false ? 'page is not heeded' : wordsFor('the first page is', pageBase),
    limitHonoured === false ? 'limit is not heeded' : wordsFor(largest, maxLimit),
    wordsFor('order by date:', order),
  ];
  const words = known.filter((each) => each !== '').join(', ');
  return `${words === '' ? 'nothing could be told' : words} (asked of ${uwi})`;
}

function wordsFor(what: string, value: number | string): string {
  return value === 'unknown' ? '' : `${what} ${value}`;
}

/** The limit to ask for: what the operator wants, but no more than the service is known to grant. */
export function limitFor(profile: ServiceProfile | undefined, wanted: number): number {
  return profile !== undefined && isLimitKnown(profile) ? Math.min(wanted, profile.maxLimit) : wanted;
}

/** In which points a read found the service otherwise than its profile says, in words; none where it fits. */
export function misfitsOf(
  profile: ServiceProfile,
  found: PagingFindings & { readonly limitRefused: boolean },
): readonly string[] {
  const { pageBase, pagingHonoured, limitHonoured } = profile;
  const misfits: string[] = [];
  if (differ(pageBase, found.pageBase)) misfits.push(`its first page is ${found.pageBase}, not ${pageBase}`);
  if (differ(pagingHonoured, found.pagingHonoured)) misfits.push(honouredWords('page', found.pagingHonoured));
  if (differ(limitHonoured, found.limitHonoured)) misfits.push(honouredWords('limit', found.limitHonoured));
  if (found.limitRefused && isLimitKnown(profile)) misfits.push('it refuses a limit that it granted');
  if (isBelow(found.grantedLimit, profile))
    misfits.push(`it grants a limit of ${found.grantedLimit}, not ${profile.maxLimit}`);
  return misfits;
}

function isBelow(granted: number | undefined, profile: ServiceProfile): boolean {
  return granted !== undefined && isLimitKnown(profile) && granted < profile.maxLimit;
}

/** Where the largest limit is not known, more was asked for than anybody promised. */
function isLimitKnown(profile: ServiceProfile): profile is ServiceProfile & { readonly maxLimit: number } {
  return profile.maxLimit !== 'unknown' && profile.overMaxLimit !== 'unknown';
}

function differ<T>(known: T | Unknown, found: T | undefined): boolean {
  return known !== 'unknown' && found !== undefined && known !== found;
}

function honouredWords(parameter: string, isHonoured: boolean | undefined): string {
  return isHonoured === true ? `it heeds ${parameter} now` : `it does not heed ${parameter} as it did`;
}
