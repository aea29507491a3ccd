/** The data beside daily production: equipment with time series records, wells with micro strings and wellbores. */
import { createRandom, derivedUuid, wholeBetween } from './rows.ts';

/** A record of docs/interface.md section 2.2, or any object that a test serves in its place. */
export interface ServedTimeSeries {
  readonly sourceId: string;
  readonly [field: string]: unknown;
}

export interface WellAssets {
  readonly body: unknown;
  readonly microStrings: number;
  readonly wellbores: number;
}

/** The assets, read-only; deletions are kept beside them. What is not known is undefined. */
export interface AssetSource {
  readonly equipmentIds: readonly string[];
  readonly wellIds: readonly string[];
  timeSeries(equipmentId: string): readonly ServedTimeSeries[] | undefined;
  well(wellId: string): WellAssets | undefined;
}

/** Assets given by a test: by source equipment id, and by source well id. */
export interface GivenAssets {
  readonly equipment?: Readonly<Record<string, readonly ServedTimeSeries[]>>;
  readonly wells?: Readonly<Record<string, Partial<WellAssets>>>;
}

export function givenAssets({ equipment = {}, wells = {} }: GivenAssets): AssetSource {
  return {
    equipmentIds: Object.keys(equipment),
    wellIds: Object.keys(wells),
    timeSeries: (equipmentId) => (Object.hasOwn(equipment, equipmentId) ? equipment[equipmentId] : undefined),
    well: (wellId) =>
      Object.hasOwn(wells, wellId)
        ? { body: { sourceId: wellId }, microStrings: 0, wellbores: 0, ...wells[wellId] }
        : undefined,
  };
}

/**
 * One well for each uwi, with the uwi as its source id, and one piece of equipment, "EQ <uwi>". Equal names give equal
 * assets.
 */
export function generatedAssets(uwis: readonly string[]): AssetSource {
  const equipmentIds = uwis.map((uwi) => `EQ ${uwi}`);
  const equipment = new Set(equipmentIds);
  const wells = new Set(uwis);
  return {
    equipmentIds,
    wellIds: uwis,
    timeSeries: (equipmentId) => (equipment.has(equipmentId) ? generatedTimeSeries(equipmentId) : undefined),
    well: (wellId) => (wells.has(wellId) ? generatedWellAssets(wellId) : undefined),
  };
}

const measurements: readonly (readonly [name: string, unit?: string | null])[] = [
  ['OilRate', 'Sm3/d'],
  ['GasRate', 'Sm3/d'],
  ['WaterRate', 'Sm3/d'],
  ['TubingHeadPressure', 'bar'],
  ['CasingHeadPressure', 'bar'],
  ['WellheadTemperature', 'degC'],
  ['ChokeOpening', null],
  ['RunningStatus'],
];

function generatedTimeSeries(equipmentId: string): ServedTimeSeries[] {
  const count = wholeBetween(createRandom(`time series ${equipmentId}`), 3, measurements.length);
  return measurements.slice(0, count).map(([measurement, unit]) => ({
    xid: derivedUuid(`${equipmentId}\n${measurement}`),
    equipmentXid: derivedUuid(equipmentId),
    sourceId: `${equipmentId}:${measurement}`,
    measurement,
    ...(unit === undefined ? {} : { unit }),
  }));
}

function generatedWellAssets(wellId: string): WellAssets {
  const random = createRandom(`well ${wellId}`);
  const wellbores = wholeBetween(random, 1, 3);
  return {
    body: {
      xid: derivedUuid(`well\n${wellId}`),
      sourceId: wellId,
      uwi: wellId,
      name: `Well ${wellId}`,
      status: random() < 0.9 ? 'ACTIVE' : 'SUSPENDED',
      spudYear: wholeBetween(random, 1985, 2018),
      totalDepth: wholeBetween(random, 1800, 5200),
    },
    microStrings: wholeBetween(random, 1, 6),
    wellbores,
  };
}

export class AssetStore {
  readonly source: AssetSource;
  readonly #deleted = new Set<string>();

  constructor(source: AssetSource) {
    this.source = source;
  }

  /** Time series records of a piece of equipment; undefined for unknown equipment. */
  timeSeries(equipmentId: string): readonly ServedTimeSeries[] | undefined {
    return this.source
      .timeSeries(equipmentId)
      ?.filter(({ sourceId }) => !this.#deleted.has(JSON.stringify([equipmentId, sourceId])));
  }

  wellBody(wellId: string): unknown {
    return this.source.well(wellId)?.body;
  }

  deleteTimeSeries(equipmentId: string, sourceId: string): number {
    const found = this.timeSeries(equipmentId)?.filter((record) => record.sourceId === sourceId) ?? [];
    this.#deleted.add(JSON.stringify([equipmentId, sourceId]));
    return found.length;
  }

  /** Returns the number of records removed: all records of the well the first time, 0 later. */
  deleteOfWell(wellId: string, kind: 'microStrings' | 'wellbores'): number {
    const key = JSON.stringify([kind, wellId]);
    const well = this.source.well(wellId);
    if (well === undefined || this.#deleted.has(key)) return 0;
    this.#deleted.add(key);
    return well[kind];
  }

  reset(): void {
    this.#deleted.clear();
  }
}
