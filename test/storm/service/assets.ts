/** What the service has beside daily production: wells by source id, what belongs to them, and time series of equipment. */
import type { DefinitionChange, RecordBody } from '../evidence.ts';
import { drawnUuid, type Random } from './random.ts';

/** Wells with daily production; each name is a source well id too. */
export const uwis: readonly string[] = [
  '15/9-F-1 C',
  '15/9-F-4',
  '15/9-F-11 H',
  '15/9-F-15 D',
  'NO 16/2-D-11 H',
  'NO 16/2-D-12 AH',
  'Åsgård Q-2 BH',
  'Tyra Øst #4',
  '井-7',
  '🛢-1',
  '50% WI 12-4',
  '%2F-3',
  'A+B 3',
  'K&M-6',
  'well?x=1',
  "O'Brien 1-22",
  '"Quoted" 8',
  'comma, 14',
  'semi;colon 2',
  String.raw`back\slash 5`,
  'p..9',
  '42-501-20130-03-W1',
  '0007',
  'a b  c',
];

/** Source well ids without daily production: nothing keeps a cleanup from what belongs to them. */
const oldWells: readonly string[] = Array.from({ length: 8 }, (_, index) => `OLD 31/${index + 1}-A`);

export const sourceWellIds: readonly string[] = [...uwis, ...oldWells];

export const equipmentIds: readonly string[] = [
  'ESP 15/9-F-1',
  'SEP-01/A',
  'Pump 50%',
  'Kjøler 2',
  'meter+7',
  'METER-8',
  'comp&dry',
  'V 101?',
  'tank;3',
  '0042',
];

const seriesOfEach = 12;
const measurements = ['PRESSURE', 'TEMPERATURE', 'RATE', 'SPEED', 'CURRENT'];
const units = ['psig', 'degF', 'bbl/d', 'rpm', 'A', 'm³/d', null];

export interface Assets {
  /** By source id, as the well is answered; without a time zone. */
  readonly wells: Map<string, RecordBody>;
  /** By equipment id, what stands: 12 at first. */
  readonly timeSeries: Map<string, readonly RecordBody[]>;
  /** Numbers by source well id. */
  readonly microStrings: Map<string, number>;
  readonly wellbores: Map<string, number>;
}

export function drawnAssets(random: Random): Assets {
  const counts = (from: number, to: number): Map<string, number> =>
    new Map(sourceWellIds.map((id) => [id, random.integer(from, to)]));
  return {
    wells: new Map(sourceWellIds.map((id) => [id, drawnWell(id, random)])),
    timeSeries: new Map(equipmentIds.map((id) => [id, drawnSeries(random)])),
    microStrings: counts(0, 14),
    wellbores: counts(1, 3),
  };
}

function drawnWell(sourceId: string, random: Random): RecordBody {
  return {
    sourceId,
    uwi: sourceId,
    name: `Well ${sourceId}`,
    type: random.pick(['PRODUCER', 'INJECTOR']),
    fluid: random.pick(['OIL', 'GAS', null]),
    status: sourceId.startsWith('OLD') ? 'ABANDONED' : 'ACTIVE',
    position: { latitude: random.integer(-90, 90), longitude: random.integer(-180, 180) },
  };
}

function drawnSeries(random: Random): readonly RecordBody[] {
  const equipmentXid = drawnUuid(random);
  return Array.from({ length: seriesOfEach }, (_, index) => ({
    xid: drawnUuid(random),
    equipmentXid,
    sourceId: `TS ${index + 1}/${random.pick(['a', 'b%', 'ø'])}`,
    measurement: random.pick(measurements),
    ...(random.chance(0.2) ? {} : { unit: random.pick(units) }),
  }));
}

/** Changes a time series or a well, or removes or adds a time series; undefined where the drawn equipment has none. */
export function changeDefinition(
  { wells, timeSeries }: Assets,
  random: Random,
): Omit<DefinitionChange, 'atMs'> | undefined {
  if (random.chance(0.3)) {
    const target = random.pick(sourceWellIds);
    wells.set(target, { ...wells.get(target), status: random.pick(['ACTIVE', 'SHUT IN', 'ABANDONED', null]) });
    return { what: 'changed', target };
  }
  const target = random.pick(equipmentIds);
  const series = timeSeries.get(target) ?? [];
  const [one] = random.shuffled(series);
  if (one === undefined) return undefined;
  const what = random.pick(['changed', 'changed', 'removed', 'added'] as const);
  // An id that was removed stands for nothing again.
  const added = { ...one, xid: drawnUuid(random), sourceId: `TS new ${drawnUuid(random).slice(0, 8)}` };
  const changed = { ...one, measurement: random.pick(measurements), unit: random.pick(units) };
  const after = {
    changed: series.map((each) => (each === one ? changed : each)),
    removed: series.filter((each) => each !== one),
    added: [...series, added],
  };
  timeSeries.set(target, after[what]);
  return { what, target, sourceId: String((what === 'added' ? added : one)['sourceId']) };
}
