/** Plausible records of daily production (docs/interface.md section 2.1), by the nature of their well. */
import type { RecordBody } from '../evidence.ts';
import type { Random } from './random.ts';

export const dayMs = 86_400_000;

const lifts = ['natural', 'gas-lift', 'esp', 'srp', 'pcp', 'injector'] as const;

/** What stays the same in all records of a well. */
export interface WellNature {
  readonly lift: (typeof lifts)[number];
  /** Rates of its first day. */
  readonly oilRate: number;
  readonly gasOilRatio: number;
  readonly waterCut: number;
  /** Share that is lost from one day to the next. */
  readonly decline: number;
  /** It produces nothing in its last 80 days. */
  readonly isShutIn: boolean;
  /** Fields that its records never have, one of them required: an absent one is 0. */
  readonly absent: readonly string[];
  /** Whether optional fields without a value are written as null; otherwise they are absent. */
  readonly writesNulls: boolean;
}

export function drawnNature(random: Random, isShutIn: boolean): WellNature {
  return {
    lift: random.pick(lifts),
    oilRate: random.integer(50, 900),
    gasOilRatio: 0.3 + random.next() * 2,
    waterCut: random.next() * 0.8,
    decline: random.next() * 0.004,
    isShutIn,
    absent: [...(random.chance(0.15) ? ['casingPressure'] : []), ...(random.chance(0.2) ? ['choke'] : [])],
    writesNulls: random.chance(0.5),
  };
}

/** Days of a well that is shut in from the last one back, none of which produces. */
const shutInDays = 80;

const liftFields: Readonly<Record<WellNature['lift'], Readonly<Record<string, readonly [from: number, to: number]>>>> =
  {
    natural: {},
    'gas-lift': { gasLiftInjectionRate: [200, 900] },
    esp: {
      espFrequency: [40, 60],
      espIntakePressure: [500, 1_500],
      espAmps: [20, 80],
      espVolts: [1_000, 3_000],
      espDischargePressure: [2_000, 4_000],
      espMotorTemperature: [180, 300],
      espVibration: [0, 1],
    },
    srp: {
      srpStrokesPerMin: [3, 10],
      srpIntakePressure: [50, 400],
      srpFluidLoad: [1_000, 9_000],
      srpFillage: [30, 100],
    },
    pcp: {
      pcpSpeed: [80, 300],
      pcpTorque: [100, 900],
      pcpIntakePressure: [50, 400],
      pcpDischargePressure: [500, 1_500],
    },
    injector: { waterInjectionRate: [1_000, 9_000], gasInjectionRate: [0, 500] },
  };

const gaugeFields = {
  gaugePressure: [1_000, 4_000],
  wellheadTemperature: [80, 180],
  gaugeTemperature: [150, 250],
  linePressure: [100, 400],
} as const;

const optionalFields = [
  ...Object.keys(gaugeFields),
  ...Object.values(liftFields).flatMap((fields) => Object.keys(fields)),
];

const downtimeCodes = ['WORKOVER', 'POWER', 'Prüfung', 'A 12/7', '停机', ''];

/**
 * A record without xid and date. `age`: days since the first day of its well; `daysToEnd`: days up to its last one, 0 or
 * below on it and after it.
 */
export function drawnDayBody(nature: WellNature, age: number, daysToEnd: number, random: Random): RecordBody {
  const isDown = nature.isShutIn && daysToEnd < shutInDays;
  const downtimeHours = drawnDowntime(isDown, random);
  const noise = (): number => 0.95 + random.next() * 0.1;
  const isInjector = nature.lift === 'injector';
  const liquid = isDown || isInjector ? 0 : nature.oilRate * (1 - nature.decline) ** age * (1 - downtimeHours / 24);
  const oilRate = rounded(liquid * (1 - nature.waterCut) * noise());
  const body: Record<string, unknown> = {
    oilRate,
    gasRate: rounded(oilRate * nature.gasOilRatio * noise()),
    waterRate: rounded(liquid * nature.waterCut * noise()),
    tubingPressure: rounded(200 * noise()),
    casingPressure: rounded(90 * noise()),
    choke: random.chance(0.1) ? null : random.integer(8, 64),
    downtimeHours: downtimeHours === 0 && random.chance(0.2) ? null : downtimeHours,
    downtimeCode: downtimeHours === 0 ? null : random.pick(downtimeCodes),
    isAnnularFlow: random.pick([true, false, null]),
    isDualFlow: random.pick([false, null]),
  };
  const ranges: Readonly<Record<string, readonly [from: number, to: number]>> = {
    ...gaugeFields,
    ...liftFields[nature.lift],
  };
  for (const field of optionalFields) {
    const range = ranges[field];
    const value =
      range === undefined || random.chance(0.05) ? null : rounded(range[0] + random.next() * (range[1] - range[0]));
    if (value !== null || nature.writesNulls) body[field] = isInjector && isDown && value !== null ? 0 : value;
  }
  if (random.chance(0.2)) Object.assign(body, drawnExtras(random));
  for (const field of nature.absent) delete body[field];
  return body;
}

/** Fields that the interface does not name. */
function drawnExtras(random: Random): RecordBody {
  return random.pick<RecordBody>([
    { remark: `gauge ${random.integer(1, 9)} – “calibré”` },
    { allocation: { factor: rounded(random.next()), meters: [random.integer(1, 99), null] } },
    { sandRate: rounded(random.next() * 3), isTest: random.chance(0.5) },
  ]);
}

function drawnDowntime(isDown: boolean, random: Random): number {
  if (isDown) return 24;
  return random.chance(0.1) ? rounded(random.next() * 24) : 0;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** Another version of a record: its rates differ from those before, and at times another field. */
export function restatedBody(body: RecordBody, random: Random): RecordBody {
  const factor = 0.8 + random.next() * 0.4;
  const rate = (field: string, step: number): number => {
    const before = typeof body[field] === 'number' ? body[field] : 0;
    // A rate of 0 is that of a well that is shut in, and stays.
    const after = rounded(before * factor);
    return before !== 0 && after === before ? before + step : after;
  };
  return {
    ...body,
    oilRate: rate('oilRate', 0.5),
    gasRate: rate('gasRate', 0.25),
    waterRate: rate('waterRate', 0.125),
    // The pressure alone changes where all rates are 0.
    tubingPressure: rounded(150 + random.next() * 100 + random.integer(1, 900) / 1_000),
    ...(random.chance(0.2)
      ? { gaugePressure: random.chance(0.3) ? null : rounded(1_000 + random.next() * 3_000) }
      : {}),
    ...(random.chance(0.1) ? drawnExtras(random) : {}),
  };
}

/** The record with something that breaks the contract; its xid stays. */
export function brokenBody(body: RecordBody, random: Random): RecordBody {
  const rate = random.pick(['oilRate', 'gasRate', 'waterRate']);
  return {
    ...body,
    ...random.pick<RecordBody>([
      { [rate]: null },
      { [rate]: null },
      { [rate]: 'much' },
      { [rate]: [1] },
      { choke: 12.5 },
      { isDualFlow: 'yes' },
      { downtimeCode: 7 },
      { date: 'not known' },
      { date: `2026-13-${random.integer(32, 99)}T00:00:00Z` },
      { date: null },
    ]),
  };
}
