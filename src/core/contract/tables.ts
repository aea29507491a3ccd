/**
 * The tables that readers rely on: columns with their types, units and meaning, keys, and what is never null. The one source of
 * datapackage.json (the feed), of the contract (odcs.ts) and of the columns of a feed's files.
 */
import { columnOf, spacedName } from '../base/text.ts';
import {
  dailyUnits,
  monthlyUnits,
  type RateBasis,
  type Units,
  type Volume,
  volumeNames,
  volumeRates,
} from '../daily/units.ts';
import { measureFields } from '../daily/row.ts';
import { plainKind, type RecordList, recordLists } from '../definitions/record-list.ts';

/** `day`: a calendar day; `instant`: microseconds in UTC. */
export type ColumnKind = 'string' | 'double' | 'int32' | 'int64' | 'boolean' | 'instant' | 'day';

export interface ContractColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  /** What the text of a string is. */
  readonly format?: 'uuid' | 'json';
  /** Never null. */
  readonly isRequired: boolean;
  readonly description: string;
  /** The feed does not have it. */
  readonly isOfWarehouse?: true;
  /** Of a measured value; `unknown` where nobody has said it. */
  readonly unit?: string;
}

export interface ContractTable {
  readonly name: string;
  /** Its name in the feed; undefined if that does not have it. */
  readonly feedName?: string;
  readonly description: string;
  /** No two rows have the same values in them. */
  readonly key: readonly string[];
  readonly columns: readonly ContractColumn[];
}

/** What an operator has set of it. */
export interface ContractSettings {
  /** By field (core/daily/units.ts). */
  readonly units: Units;
  /** Required fields that may be null (`export.nullable`). */
  readonly nullable: readonly string[];
  /** A well without a new day for so long is stale. */
  readonly warnAfterDays: number;
}

/** Of an installation that sets nothing. */
export const defaultContract: ContractSettings = { units: {}, nullable: [], warnAfterDays: 14 };

/** Without a rate basis the volumes are described for either. */
export function contractTables(settings: ContractSettings, rateBasis?: RateBasis): readonly ContractTable[] {
  const daily = dailyColumns(settings);
  const measures = daily.slice(1);
  return [
    {
      name: 'daily_production',
      feedName: 'daily_production',
      description: 'A record of the service of a well and production day, as it stands now',
      key: ['uwi', 'xid'],
      columns: [...daily, counts, ...writing],
    },
    {
      name: 'production_day',
      description: 'The one record of a well and production day that counts',
      key: ['uwi', 'production_day'],
      columns: [...daily, ...writing],
    },
    {
      name: 'monthly_production',
      description: 'Volumes of a well in a month of which a day is known, and the days that they are of',
      key: ['uwi', 'production_month'],
      columns: monthlyColumns(settings, rateBasis),
    },
    {
      name: 'daily_production_history',
      feedName: 'restatements',
      description: 'What a record said before it changed or was removed',
      key: ['uwi', 'xid', 'known_from'],
      columns: [uwi, ...measures, ...ending, nextXid, restatementNo],
    },
    {
      name: 'coverage',
      feedName: 'coverage',
      description: 'Days of a well that verified reads accounted for: those without a row are missing at the service',
      key: ['uwi', 'from_day'],
      columns: [
        uwi,
        { name: 'from_day', kind: 'day', isRequired: true, description: 'The first day' },
        { name: 'to_day', kind: 'day', isRequired: true, description: 'The first day after' },
      ],
    },
    {
      name: 'well',
      feedName: 'well',
      description: 'The body of a well, as the service sent it',
      key: ['source_id'],
      columns: [
        text('source_id', true, 'Source id of the well'),
        text('content_type', false, 'Media type of the body'),
        text('body', false, 'The body'),
        { ...text('document', false, 'The body as JSON, where it is', 'json'), isOfWarehouse: true },
        ...writing,
      ],
    },
    ...recordLists.map(listTable),
  ];
}

function text(
  name: string,
  isRequired: boolean,
  description: string,
  format?: ContractColumn['format'],
): ContractColumn {
  return { name, kind: 'string', isRequired, description, ...(format === undefined ? {} : { format }) };
}

const uwi = text('uwi', true, 'Unique well identifier');
const counts: ContractColumn = {
  name: 'counts',
  kind: 'boolean',
  isRequired: true,
  description: 'False for a record of a day for which another one counts',
};
const changedAt: ContractColumn = {
  name: 'changed_at',
  kind: 'instant',
  isRequired: true,
  description: 'When the row got these values',
};
const writing: readonly ContractColumn[] = [
  text('inserted_run_id', false, 'The run that stored the row first'),
  text('changed_run_id', false, 'The run that gave the row these values'),
  changedAt,
];
const ending: readonly ContractColumn[] = [
  text('change', true, 'updated, replaced or removed'),
  text('run_id', false, 'The run that noticed the change'),
  { name: 'noticed_at', kind: 'instant', isRequired: true, description: 'When the change was noticed' },
  { name: 'known_from', kind: 'instant', isRequired: true, description: 'Since when the record was known to say this' },
  text('known_run_id', false, 'The run that stored what the record said'),
];
const nextXid = text('next_xid', false, 'The record that it continued as; null if it was removed', 'uuid');
const restatementNo: ContractColumn = {
  name: 'restatement_no',
  kind: 'int64',
  isRequired: false,
  description: 'Its number in the feed, which only grows; null until it was published',
};

/** What the service sends of a day, with the well. */
function dailyColumns({ units, nullable }: ContractSettings): readonly ContractColumn[] {
  const unitOf = dailyUnits(units);
  return [
    uwi,
    text('xid', true, 'Identifier of the record at the service', 'uuid'),
    { name: 'date', kind: 'instant', isRequired: true, description: 'Instant of the record' },
    {
      name: 'production_day',
      kind: 'day',
      isRequired: true,
      description: 'Calendar day of the instant in the zone of the well',
    },
    ...measureFields.map(({ name, column, kind, required }): ContractColumn => {
      const unit = unitOf[column];
      const isRequired = required && !nullable.includes(name);
      const description = `${titleOf(name)}${required ? '; 0 where the service sent none' : ''}`;
      return { name: column, kind, isRequired, description, ...(unit === undefined ? {} : { unit }) };
    }),
    text('extras', false, 'Fields that the interface does not name, as one JSON object', 'json'),
  ];
}

/** `oilRate` reads `Oil rate`. */
function titleOf(name: string): string {
  return name.charAt(0).toUpperCase() + spacedName(name.slice(1));
}

const volumeTitles: Readonly<Record<Volume, string>> = {
  oil: 'Oil produced',
  gas: 'Gas produced',
  water: 'Water produced',
  water_injected: 'Water injected',
  gas_injected: 'Gas injected',
};

function monthlyColumns({ units }: ContractSettings, rateBasis: RateBasis | undefined): readonly ContractColumn[] {
  const unitOf = monthlyUnits(dailyUnits(units));
  const basis = rateBasis === undefined ? '' : ` of ${rateBasis} rates`;
  const measured = (name: string, description: string): ContractColumn => {
    const unit = unitOf[name];
    return { name, kind: 'double', isRequired: false, description, ...(unit === undefined ? {} : { unit }) };
  };
  const days = (name: string, description: string): ContractColumn => {
    return { name: `days_${name}`, kind: 'int32', isRequired: true, description };
  };
  return [
    uwi,
    { name: 'production_month', kind: 'day', isRequired: true, description: 'The first day of the month' },
    days('present', 'Days with a row and without a quarantined record'),
    days('missing', 'Days for which a verified read brought nothing'),
    days('quarantined', 'Days with a quarantined record'),
    measured('hours_on', 'Hours on: 24 of each day with a row, less its hours of downtime'),
    ...volumeNames.map((name) =>
      measured(
        name,
        `${volumeTitles[name]}: the sum${basis} over the days with a ${volumeRates[name]}; null without one`,
      ),
    ),
    measured('downtime_hours', 'Hours of downtime, 0 to 24 a day; null where none were given'),
    text('downtime_by_code', false, 'Hours of downtime by their code, as one JSON object', 'json'),
  ];
}

function listTable(list: RecordList): ContractTable {
  const { table, title, targets, fields, key } = list;
  const columns = Object.entries(fields).map(([field, kind]): ContractColumn => {
    const plain = plainKind(kind);
    return {
      name: columnOf(field),
      kind: plain === 'uuid' ? 'string' : plain,
      isRequired: !kind.endsWith('?'),
      description: titleOf(field),
      ...(plain === 'uuid' ? { format: 'uuid' } : {}),
    };
  });
  return {
    name: table,
    feedName: table,
    description: `${title.charAt(0).toUpperCase()}${title.slice(1)}, as they stand now`,
    key: [targets.column, columnOf(key)],
    columns: [text(targets.column, true, `The target: one of the ${targets.many}`), ...columns, ...writing],
  };
}
