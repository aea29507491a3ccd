/** Owns what the server has besides daily production: equipment with its time series records, wells with micro strings and wellbores. */
import { createRandom, derivedUuid, wholeBetween } from './random.ts';

/** Section 2.2 of INTERFACE.md, or whatever a test wants served in its place. */
export interface ServedTimeSeries {
  readonly sourceId: string;
  readonly [field: string]: unknown;
}

export interface WellAssets {
  /** Answered to the retrieval of the well. */
  readonly body: unknown;
  readonly microStrings: number;
  readonly wellbores: number;
}

/** Read-only; what was deleted is remembered beside it. */
export interface AssetSource {
  readonly equipmentIds: readonly string[];
  readonly wellIds: readonly string[];
  timeSeries(equipmentId: string): readonly ServedTimeSeries[];
  well(wellId: string): WellAssets;
}

/** What a test gives: by source equipment id, and by source well id. */
export interface GivenAssets {
  readonly equipment?: Readonly<Record<string, readonly ServedTimeSeries[]>>;
  readonly wells?: Readonly<Record<string, Partial<WellAssets>>>;
}

export function givenAssets({ equipment = {}, wells = {} }: GivenAssets): AssetSource {
  return {
    equipmentIds: Object.keys(equipment),
    wellIds: Object.keys(wells),
    timeSeries: (equipmentId) => equipment[equipmentId] ?? [],
    well: (wellId) => ({ body: { sourceId: wellId }, microStrings: 0, wellbores: 0, ...wells[wellId] }),
  };
}

/** One well for each uwi, with the uwi as its source id, and one piece of equipment, "EQ <uwi>". The same from the same names. */
export function generatedAssets(uwis: readonly string[]): AssetSource {
  return {
    equipmentIds: uwis.map((uwi) => `EQ ${uwi}`),
    wellIds: uwis,
    timeSeries: generatedTimeSeries,
    well: generatedWellAssets,
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
  readonly #source: AssetSource;
  readonly #equipmentIds: ReadonlySet<string>;
  readonly #wellIds: ReadonlySet<string>;
  readonly #deleted = new Set<string>();

  constructor(source: AssetSource) {
    this.#source = source;
    this.#equipmentIds = new Set(source.equipmentIds);
    this.#wellIds = new Set(source.wellIds);
  }

  get equipmentIds(): readonly string[] {
    return this.#source.equipmentIds;
  }

  get wellIds(): readonly string[] {
    return this.#source.wellIds;
  }

  /** Undefined for unknown equipment. */
  timeSeries(equipmentId: string): readonly ServedTimeSeries[] | undefined {
    if (!this.#equipmentIds.has(equipmentId)) return undefined;
    return this.#source
      .timeSeries(equipmentId)
      .filter(({ sourceId }) => !this.#deleted.has(JSON.stringify([equipmentId, sourceId])));
  }

  /** Undefined for an unknown well. */
  wellBody(wellId: string): unknown {
    return this.#wellIds.has(wellId) ? this.#source.well(wellId).body : undefined;
  }

  /** How many records it removed. */
  deleteTimeSeries(equipmentId: string, sourceId: string): number {
    const found = this.timeSeries(equipmentId)?.filter((record) => record.sourceId === sourceId) ?? [];
    this.#deleted.add(JSON.stringify([equipmentId, sourceId]));
    return found.length;
  }

  /** How many records it removed: all that the well had, the first time. */
  deleteOfWell(wellId: string, kind: 'microStrings' | 'wellbores'): number {
    const key = JSON.stringify([kind, wellId]);
    if (!this.#wellIds.has(wellId) || this.#deleted.has(key)) return 0;
    this.#deleted.add(key);
    return this.#source.well(wellId)[kind];
  }

  /** Brings back what was deleted. */
  reset(): void {
    this.#deleted.clear();
  }
}
