/**
 * What is worth a look in daily production, by the names of the checks, in words that a reader can judge. Those that a row
 * alone decides are also SQL that any tool can run; it counts rows that need a look, of which a service may have some.
 */

import type { CheckName } from '../checks/settings.ts';

export type Dimension = 'accuracy' | 'completeness' | 'conformity' | 'consistency' | 'timeliness' | 'uniqueness';

interface ContractCheck {
  readonly dimension: Dimension;
  readonly description: string;
  /** SQL of a table with a row for each finding. */
  readonly findings?: string;
}

const flows = '(oil_rate > 0 OR gas_rate > 0 OR water_rate > 0)';
const days = (condition: string): string => `production_day WHERE ${condition}`;

/** By the name of the check: one that is added needs its words here. */
export const contractChecks: Readonly<Record<CheckName, ContractCheck>> = {
  'maybe-missing-zero': {
    dimension: 'completeness',
    description: 'A 0 that may be a missing value: both pressures are 0 on a day with a rate above 0',
    findings: days(`${flows} AND tubing_pressure = 0 AND casing_pressure = 0`),
  },
  'hours-out-of-bounds': {
    dimension: 'conformity',
    description: 'Hours of downtime below 0, or more than a day has: 24, and 25 where clocks are set back',
    findings: days('downtime_hours < 0 OR downtime_hours > 25'),
  },
  'production-while-down': {
    dimension: 'consistency',
    description: 'A rate above 0 on a day of 24 hours of downtime',
    findings: days(`downtime_hours >= 24 AND ${flows}`),
  },
  'downtime-reason': {
    dimension: 'completeness',
    description: 'Hours of downtime without a code, or a code without hours',
    findings: days(
      `downtime_hours > 0 AND coalesce(downtime_code, '') = '' OR downtime_code <> '' AND coalesce(downtime_hours, 0) = 0`,
    ),
  },
  'rate-or-volume': {
    dimension: 'consistency',
    description:
      'On days of partial downtime the rates no longer follow the habit of the well: by 24 hours, or by the hours on',
  },
  negative: {
    dimension: 'conformity',
    description: 'A rate below 0',
    findings: days('oil_rate < 0 OR gas_rate < 0 OR water_rate < 0'),
  },
  'stale-repeat': {
    dimension: 'accuracy',
    description: 'The same oil, gas and water rates above 0, to the digit, for days on end',
  },
  jump: {
    dimension: 'accuracy',
    description: 'A rate, gas-oil ratio or water cut far from the median of the days around it',
  },
  'excluded-stream': {
    dimension: 'consistency',
    description: 'A stream that the type of the well excludes, such as oil on an injector',
  },
  'day-identity': {
    dimension: 'uniqueness',
    description: 'Two records of one production day of a well',
    findings: '(SELECT uwi FROM daily_production GROUP BY uwi, production_day HAVING count(*) > 1) repeated',
  },
  'unit-slip': {
    dimension: 'accuracy',
    description: 'A lasting shift of a rate or a pressure by a factor between two units',
  },
};
