/** Until when a token of the HTTP API counts: `expires` is its last day, and it ends with that day in UTC. Pure. */
import { instantOfDay } from '../time/production-day.ts';
import { DAY_MS } from '../time/window.ts';

/** What the configuration says of it. */
export interface TokenExpiry {
  /** YYYY-MM-DD; undefined for a token without an end. */
  readonly expires?: string | undefined;
}

/** How long before its end an operator is told of it: time to hand a new token to whoever uses it. */
const warnedDays = 14;

/** Whether a text is a day of the calendar, as YYYY-MM-DD. */
export function isDay(text: string): boolean {
  return instantOfDay(text, 'UTC') !== undefined;
}

/** The first instant at which it no longer counts; Infinity for a token without an end. */
export function endOfToken({ expires }: TokenExpiry): number {
  const beginMs = expires === undefined ? undefined : instantOfDay(expires, 'UTC');
  return beginMs === undefined ? Infinity : beginMs + DAY_MS;
}

export function isExpired(token: TokenExpiry, nowMs: number): boolean {
  return nowMs >= endOfToken(token);
}

/** The days that are left of a token that ends within 14 days: 0 when it has ended, 1 on its last day. */
export function fewDaysLeft(token: TokenExpiry, nowMs: number): number | undefined {
  const days = Math.max(0, Math.ceil((endOfToken(token) - nowMs) / DAY_MS));
  return days <= warnedDays ? days : undefined;
}
