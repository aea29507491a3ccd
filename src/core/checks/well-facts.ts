/** What the record of a well says of it, out of its own words. */
import { isTimeZone } from '../time/production-day.ts';
import type { WellFacts } from './checked-well.ts';

/** The texts of a record, as they came; null where it has none. */
export interface WellTexts {
  readonly type: string | null;
  readonly status: string | null;
  readonly lift: string | null;
  readonly timeZone: string | null;
  /** Day number of the day on which the record came to say so. */
  readonly fromDay: number;
}

/**
 * Words are those of the vendor's documentation (PRODUCER, INJECTOR; ACTIVE, INACTIVE, ABANDONED), whatever their case and
 * their hyphens; of another word nothing is known.
 */
export function factsOf({ type, status, lift, timeZone, fromDay }: WellTexts): WellFacts {
  const kind = plain(type);
  return {
    type: kind.startsWith('PROD') ? 'producer' : kind.includes('INJ') ? 'injector' : undefined,
    isIdle: ['INACTIVE', 'ABANDONED'].includes(plain(status)),
    lift: liftOf(plain(lift)),
    timeZone: timeZone !== null && isTimeZone(timeZone) ? timeZone : undefined,
    fromDay,
  };
}

function liftOf(lift: string): WellFacts['lift'] {
  if (lift.includes('ESP') || lift.includes('SUBMERSIBLE')) return 'esp';
  return lift.includes('GASLIFT') ? 'gas-lift' : undefined;
}

function plain(word: string | null): string {
  return (word ?? '').toUpperCase().replaceAll(/[^A-Z]/g, '');
}
