/**
 * The contract of a warehouse as a document of the Open Data Contract Standard 3.1.0
 * (https://bitol-io.github.io/open-data-contract-standard), which other tools check.
 */
import type { RateBasis } from '../daily/units.ts';
import { type CheckName, checkNames } from '../checks/check.ts';
import {
  type ColumnKind,
  type ContractColumn,
  type ContractSettings,
  type ContractTable,
  contractTables,
} from './tables.ts';

/** Where the data lies, as the standard has it; without secrets. */
export interface ContractServer {
  readonly server: string;
  readonly type: 'duckdb' | 'postgres' | 'custom';
  readonly description: string;
  readonly [property: string]: string | number;
}

export interface ContractSubject {
  /** Of the warehouse. */
  readonly id: string;
  /** The key of the service; null before the first run. */
  readonly service: string | null;
  /** Of wellsync, whose tables they are. */
  readonly version: string;
  readonly rateBasis: RateBasis;
  readonly servers: readonly ContractServer[];
}

type Document = Readonly<Record<string, unknown>>;

export function odcsDocument(subject: ContractSubject, settings: ContractSettings): Document {
  const { id, service, version, rateBasis, servers } = subject;
  return {
    apiVersion: 'v3.1.0',
    kind: 'DataContract',
    id,
    name: 'Daily production',
    version,
    status: 'active',
    domain: 'production',
    description: {
      purpose: `Daily production of wells${service === null ? '' : `, as the service ${service} sends it`}, for every reader of the warehouse and its feed.`,
      usage: 'Read production_day for one row a well and day, and monthly_production for volumes.',
      limitations:
        'Values are stored as they come: no unit is converted, and a required rate that the service leaves out is 0.',
    },
    servers,
    schema: contractTables(settings, rateBasis).map(schemaObject),
    slaProperties: [
      {
        property: 'freshness',
        value: settings.warnAfterDays,
        unit: 'd',
        element: 'daily_production.production_day',
        driver: 'operational',
        description: `A well without a new day for ${settings.warnAfterDays} days is stale`,
      },
    ],
    customProperties: [{ property: 'rateBasis', value: rateBasis }],
  };
}

function schemaObject({ name, feedName, description, key, columns }: ContractTable): Document {
  const quality = qualityOf(name, key);
  return {
    name,
    physicalName: name,
    physicalType: views.includes(name) ? 'view' : 'table',
    logicalType: 'object',
    description,
    ...(feedName === undefined ? {} : { customProperties: [{ property: 'feedTable', value: feedName }] }),
    properties: columns.map((column) => property(column, key)),
    ...(quality.length === 0 ? {} : { quality }),
  };
}

const views = ['daily_production', 'production_day', 'monthly_production'];

const logicalTypes: Readonly<Record<ColumnKind, string>> = {
  string: 'string',
  double: 'number',
  int32: 'integer',
  int64: 'integer',
  boolean: 'boolean',
  instant: 'timestamp',
  day: 'date',
};

function property(column: ContractColumn, key: readonly string[]): Document {
  const { name, kind, format, isRequired, description, unit } = column;
  const position = key.indexOf(name) + 1;
  return {
    name,
    logicalType: logicalTypes[kind],
    // Tools know no logical type of JSON; both engines call it so.
    ...(format === 'json' ? { physicalType: 'json' } : {}),
    ...(format === 'uuid' ? { logicalTypeOptions: { format: 'uuid' } } : {}),
    ...(kind === 'instant' ? { logicalTypeOptions: { timezone: true, defaultTimezone: 'Etc/UTC' } } : {}),
    required: isRequired,
    ...(position === 0 ? {} : { primaryKey: true, primaryKeyPosition: position }),
    description,
    ...(unit === undefined ? {} : { customProperties: [{ property: 'unit', value: unit }] }),
  };
}

/** The rules of a table: that of its key, and of daily production the checks. */
function qualityOf(name: string, key: readonly string[]): readonly Document[] {
  const unique = {
    type: 'library',
    name: `one row a ${key.join(', ')}`,
    metric: 'duplicateValues',
    arguments: { properties: key },
    mustBe: 0,
    dimension: 'uniqueness',
    severity: 'error',
  };
  if (name !== 'daily_production') return [unique];
  const filled = {
    type: 'library',
    name: 'it has rows',
    metric: 'rowCount',
    mustBeGreaterThan: 0,
    dimension: 'completeness',
    severity: 'error',
  };
  const checks = checkNames
    .map((check) => ({ check, ...contractChecks[check] }))
    .map(({ check, dimension, description, findings }) => ({
      name: check,
      description,
      dimension,
      severity: 'warning',
      ...(findings === undefined
        ? { type: 'text' }
        : { type: 'sql', query: `SELECT count(*) FROM ${findings}`, mustBe: 0 }),
    }));
  return [unique, filled, ...checks];
}

// What is worth a look in daily production, by the names of the checks, in words that a reader can judge. Those that a row
// alone decides are also SQL that any tool can run; it counts rows that need a look, of which a service may have some.

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
const contractChecks: Readonly<Record<CheckName, ContractCheck>> = {
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
