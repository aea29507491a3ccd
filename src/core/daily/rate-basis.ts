/** What the rate of a day means for its volume (`export.rateBasis`). The service does not say it. */

/**
 * `calendar-day`: the volume of the day by 24 hours, so that the rate is the volume. `operated-day`: the volume by the hours
 * on, so that a day of 12 hours on has half of its rate. Words and example: IHS Harmony, where 300 bbl in 15 of 30 days are
 * 10 or 20 bbl/d.
 */
export const rateBases = ['calendar-day', 'operated-day'] as const;
export type RateBasis = (typeof rateBases)[number];

/** Also of a warehouse for which no export was planned yet. */
export const defaultRateBasis: RateBasis = 'calendar-day';

/** The volumes of a month by their column, each with the column of the rate that it is a sum of. */
export const volumeRates = {
  oil: 'oil_rate',
  gas: 'gas_rate',
  water: 'water_rate',
  water_injected: 'water_injection_rate',
  gas_injected: 'gas_injection_rate',
} as const;

export type Volume = keyof typeof volumeRates;
export const volumeNames = Object.keys(volumeRates) as readonly Volume[];
