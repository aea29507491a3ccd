/** A generated field as a source: a well is generated at its first request, and cached while there is room. */
import { z } from 'zod';
import type { DailyProduction } from '../../service/contract.ts';
import { between, createRandom, deriveXid, instantOf, pick, type Random, WellRows, wholeBetween } from './rows.ts';
import type { DailySource } from './daily-source.ts';

/** Room for 200 wells of 5 years; the wells of a larger field are generated again when needed. */
const MAX_KEPT_BYTES = 192 * 1024 * 1024;

/** Throws ZodError for wrong options. */
export function generatedDaily(options: GeneratedFieldOptions = {}): DailySource {
  const field = generateField(options);
  const wells = new Map(field.wells.map((well) => [well.uwi, well]));
  const kept = createKept(MAX_KEPT_BYTES);
  const generate = (uwi: string): WellRows => {
    const well = wells.get(uwi);
    const rows = well === undefined ? [] : field.rows(well);
    return new WellRows(
      rows.map((row) => ({ xid: row.xid, instantMs: instantOf(row.date), text: JSON.stringify(row) })),
    );
  };
  return {
    uwis: [...wells.keys()],
    rowCount(uwi) {
      const well = wells.get(uwi);
      return well === undefined ? 0 : field.rowCount(well);
    },
    rows: (uwi) => kept(uwi, generate),
  };
}

/** A least-recently-used cache, bounded in bytes. */
function createKept(maxBytes: number): (key: string, make: (key: string) => WellRows) => WellRows {
  const entries = new Map<string, WellRows>();
  let bytes = 0;
  return (key, make) => {
    const known = entries.get(key);
    const rows = known ?? make(key);
    entries.delete(key);
    entries.set(key, rows);
    if (known === undefined) bytes += rows.byteLength;
    for (const [oldest, { byteLength }] of entries) {
      if (bytes <= maxBytes || oldest === key) break;
      entries.delete(oldest);
      bytes -= byteLength;
    }
    return rows;
  };
}

// One day of a generated well: decline, water, gas, pressures, and the fields of its lift.

interface DayConditions extends CourseDay {
  readonly years: number;
}

type Measures = Omit<DailyProduction, 'xid' | 'date'>;

/**
 * The measures of a day, in metric units: Sm3 a day, bar, degrees Celsius; torque in lbf-ft. Fields of another lift are
 * absent.
 */
function measuresOf(well: GeneratedWell, day: DayConditions, random: Random): Measures {
  const uptime = Math.max(0, 1 - day.downtimeHours / 24);
  // Remaining share of the initial strength, in (0, 1]: pressures decline with the rate.
  const strength = arpsFactor(well, day.years);
  // Object.assign is twice as fast here as spreading, and a field has hundreds of thousands of days.
  const flow = Object.assign(ratesOf(well, day, strength, uptime), pressuresOf(well, strength, uptime, random));
  const equipment = Object.assign(sensorsOf(well, strength, uptime, random), liftOf(well, strength, uptime, random));
  const flags: Partial<Measures> = well.omits.flags ? {} : { isAnnularFlow: false, isDualFlow: null };
  return Object.assign(flow, equipment, downtimeOf(well, day), flags);
}

function downtimeOf(well: GeneratedWell, day: DayConditions): Partial<Measures> {
  const downtimeHours = round(day.downtimeHours, 2);
  if (well.omits.downtimeCode && day.downtimeCode === null) return { downtimeHours };
  return { downtimeHours, downtimeCode: day.downtimeCode };
}

/** Arps' hyperbolic decline: rate divided by the initial rate. */
function arpsFactor(well: GeneratedWell, years: number): number {
  return (1 + well.declineExponent * well.declinePerYear * years) ** (-1 / well.declineExponent);
}

/** Water cut, rising along a logistic curve from its initial to its final value. */
function waterCutOf({ waterCut }: GeneratedWell, years: number): number {
  const progress = 1 / (1 + Math.exp(-1.2 * (years - waterCut.middleYears)));
  return waterCut.initial + (waterCut.final - waterCut.initial) * progress;
}

function ratesOf(well: GeneratedWell, day: DayConditions, strength: number, uptime: number) {
  const oil = well.oilRate * strength * day.productivity * uptime;
  const waterCut = waterCutOf(well, day.years);
  const gasOilRatio = well.gasOilRatio * (1 + well.gasOilRatioGrowth * day.years);
  return {
    oilRate: round(oil, 2),
    gasRate: round(oil * gasOilRatio, 1),
    waterRate: round((oil * waterCut) / (1 - waterCut), 2),
  };
}

function pressuresOf(well: GeneratedWell, strength: number, uptime: number, random: Random) {
  const line = well.linePressure * (0.8 + 0.2 * strength) * jitter(random, 0.01);
  // Pressure of a closed well builds up above line pressure.
  const buildUp = uptime === 0 ? 1.3 : 1;
  return {
    tubingPressure: round((line + well.drawdown * (0.2 + 0.8 * strength)) * buildUp * jitter(random, 0.015), 2),
    casingPressure: round(well.casingPressure * (0.6 + 0.4 * strength) * jitter(random, 0.015), 2),
    ...(well.omits.linePressure ? {} : { linePressure: round(line, 2) }),
  };
}

/** Sensor values. A gauge fails on some days (null); a well without a gauge omits its fields. */
function sensorsOf(well: GeneratedWell, strength: number, uptime: number, random: Random) {
  const reads = random() > 0.02;
  return {
    ...(well.omits.choke ? {} : { choke: uptime === 0 ? 0 : Math.min(100, Math.round(30 + 70 * (1 - strength))) }),
    wellheadTemperature: round((12 + 55 * strength * uptime) * jitter(random, 0.02), 1),
    ...(well.hasGauge
      ? {
          gaugePressure: reads
            ? round(well.reservoirPressure * (0.5 + 0.5 * strength) * jitter(random, 0.01), 2)
            : null,
          gaugeTemperature: reads ? round(98 * jitter(random, 0.004), 2) : null,
        }
      : {}),
  };
}

function liftOf(well: GeneratedWell, strength: number, uptime: number, random: Random): Partial<Measures> {
  const intake = round(well.reservoirPressure * (0.15 + 0.2 * strength) * jitter(random, 0.02), 2);
  /** A value of running equipment: 0 while the well is shut in. */
  const running = (value: number, digits: number, spread = 0.02) =>
    uptime === 0 ? 0 : round(value * jitter(random, spread), digits);
  switch (well.lift) {
    case 'natural-flow':
      return {};
    case 'gas-lift':
      return { gasLiftInjectionRate: round(running(28_000 + 30_000 * (1 - strength), 1) * uptime, 1) };
    case 'esp':
      return {
        espFrequency: running(46 + 12 * (1 - strength), 1, 0.005),
        espIntakePressure: intake,
        espAmps: running(38 + 20 * strength, 1),
        espVolts: running(2150, 0, 0.01),
        espDischargePressure: round(intake + running(110, 2), 2),
        espMotorTemperature: round((uptime === 0 ? 88 : 118) * jitter(random, 0.02), 1),
        espVibration: random() > 0.03 ? running(0.35, 3, 0.2) : null,
      };
    case 'srp':
      return {
        srpStrokesPerMin: running(4 + 4 * strength, 2),
        srpIntakePressure: intake,
        srpFluidLoad: running(2200 + 900 * (1 - strength), 0),
        srpFillage: Math.min(100, running(70 + 25 * strength, 1)),
      };
    case 'pcp':
      return {
        pcpSpeed: running(120 + 140 * strength, 0),
        pcpTorque: running(310 + 160 * (1 - strength), 1),
        pcpIntakePressure: intake,
        pcpDischargePressure: round(intake + running(75, 2), 2),
      };
    case 'water-injector':
      return { waterInjectionRate: round(running(well.injectionRate * (0.7 + 0.3 * strength), 1) * uptime, 1) };
  }
}

function jitter(random: Random, spread: number): number {
  return between(random, 1 - spread, 1 + spread);
}

function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}

/** A generated field: the same seed gives the same wells, days and values. */
const DAY_MS = 86_400_000;
const DAYS_A_YEAR = 365.25;

const day = z.iso.date();

const firstDay = '2021-01-01';
const lastDay = '2024-01-01';

export const generatedFieldSchema = z
  .strictObject({
    seed: z.int().default(1).describe('the same seed generates the same field'),
    wells: z.int().min(1).default(20).describe('number of wells'),
    fromDay: day.default(firstDay).describe('first day, YYYY-MM-DD'),
    toDay: day.default(lastDay).describe('the day after the last one, YYYY-MM-DD'),
  })
  .refine(({ fromDay, toDay }) => fromDay < toDay, {
    error: `must be later than the first day; where it is not given, it is ${lastDay}`,
    path: ['toDay'],
  });

export type GeneratedFieldOptions = z.input<typeof generatedFieldSchema>;

/** Throws ZodError for wrong options. */
export function generateField(options: GeneratedFieldOptions = {}) {
  const { seed, wells, fromDay, toDay } = generatedFieldSchema.parse(options);
  const fromMs = Date.parse(fromDay);
  const dayCount = (Date.parse(toDay) - fromMs) / DAY_MS;
  return {
    wells: Array.from({ length: wells }, (_, ordinal) =>
      drawWell(createRandom(`${seed} well ${ordinal}`), ordinal, dayCount),
    ),
    /** Without generating them: one for every day from the start of the well to the end of the field. */
    rowCount: (well: GeneratedWell) => dayCount - well.startsAfterDays,
    /** In order of date, generated at each call. */
    rows: (well: GeneratedWell) => [...daysOf(well, createRandom(`${seed} days ${well.uwi}`), fromMs, dayCount)],
  };
}

function* daysOf(well: GeneratedWell, random: Random, fromMs: number, dayCount: number): Generator<DailyProduction> {
  const course = createCourse(random);
  for (let dayOfField = well.startsAfterDays; dayOfField < dayCount; dayOfField += 1) {
    const date = `${new Date(fromMs + dayOfField * DAY_MS).toISOString().slice(0, 19)}Z`;
    const years = (dayOfField - well.startsAfterDays) / DAYS_A_YEAR;
    const measures = measuresOf(well, { years, ...course() }, random);
    yield Object.assign({ xid: deriveXid(well.uwi, date), date }, measures);
  }
}

interface CourseDay extends Downtime {
  /** Factor around 1: daily variation, and gains of a workover. */
  readonly productivity: number;
}

interface Downtime {
  /** 24 for a shut-in. */
  readonly downtimeHours: number;
  readonly downtimeCode: string | null;
}

/** Conditions of a well day by day: variation over a few days, shut-ins of some days, workovers that restore rate. */
function createCourse(random: Random): () => CourseDay {
  let luck = 1;
  let broughtBack = 0;
  let shutIn = { daysLeft: 0, code: '' };
  return () => {
    luck = 1 + 0.85 * (luck - 1) + between(random, -0.03, 0.03);
    broughtBack *= 0.995;
    const productivity = luck * (1 + broughtBack);
    if (shutIn.daysLeft === 0) shutIn = drawShutIn(random);
    if (shutIn.daysLeft === 0) return { ...drawDowntime(random), productivity };
    shutIn.daysLeft -= 1;
    if (shutIn.daysLeft === 0 && shutIn.code === 'WORKOVER') broughtBack = 0.08;
    return { downtimeHours: 24, downtimeCode: shutIn.code, productivity };
  };
}

/** A shut-in: its days, 0 for none, and its code. About one shut-in a year, and one workover in three years. */
function drawShutIn(random: Random): { daysLeft: number; code: string } {
  const draw = random();
  if (draw < 0.001) return { daysLeft: wholeBetween(random, 7, 25), code: 'WORKOVER' };
  if (draw < 0.004)
    return { daysLeft: wholeBetween(random, 1, 9), code: pick(random, ['FACILITY', 'TURNAROUND', 'INTEGRITY']) };
  return { daysLeft: 0, code: '' };
}

/** Hours of downtime: a few on one day in sixteen, short stops more often than long ones. */
function drawDowntime(random: Random): Downtime {
  if (random() >= 1 / 16) return { downtimeHours: 0, downtimeCode: null };
  return { downtimeHours: 0.25 + 20 * random() ** 3, downtimeCode: pick(random, ['POWER', 'TEST', 'WEATHER', 'TRIP']) };
}

// A generated well: its name, lift and reservoir constants, drawn once from a seed.

export type Lift = 'natural-flow' | 'gas-lift' | 'esp' | 'srp' | 'pcp' | 'water-injector';

/** Lifts of a field of ten wells. A larger field repeats the list; a field of eight wells has every lift. */
const liftMix: readonly Lift[] = [
  'natural-flow',
  'esp',
  'gas-lift',
  'srp',
  'water-injector',
  'pcp',
  'natural-flow',
  'esp',
  'gas-lift',
  'srp',
];

export type GeneratedWell = Readonly<ReturnType<typeof drawWell>>;

/**
 * Draws a well. `ordinal` counts from 0 within the field and makes the name unique; `dayCount` is the length of the
 * field in days.
 */
export function drawWell(random: Random, ordinal: number, dayCount: number) {
  const lift = liftMix[ordinal % liftMix.length] ?? 'natural-flow';
  return {
    uwi: drawUwi(random, ordinal),
    lift,
    // From the field's first day to the start of the well.
    startsAfterDays: random() < 0.75 ? 0 : Math.floor(between(random, 0, dayCount / 3)),
    // Arps' decline of oil: initial rate (Sm3 a day), nominal decline a year, exponent.
    oilRate: lift === 'water-injector' ? 0 : between(random, ...oilRateOf[lift]),
    declinePerYear: between(random, 0.18, 0.6),
    declineExponent: between(random, 0.2, 0.9),
    // Initial gas-oil ratio (Sm3/Sm3), and its growth a year.
    gasOilRatio: between(random, 60, 220),
    gasOilRatioGrowth: between(random, 0.03, 0.15),
    waterCut: {
      initial: between(random, 0.01, 0.2),
      final: between(random, 0.6, 0.93),
      // The year of the middle between them.
      middleYears: between(random, 1.5, 5),
    },
    // Initial pressures, bar; tubing pressure is line pressure plus drawdown.
    linePressure: between(random, 8, 25),
    drawdown: between(random, 15, 90),
    casingPressure: lift === 'gas-lift' ? between(random, 80, 130) : between(random, 4, 40),
    reservoirPressure: between(random, 180, 340),
    injectionRate: between(random, 800, 4500),
    hasGauge: random() < 0.6,
    // Fields that the well's operators omit, or write as null.
    omits: {
      choke: random() < 0.3,
      linePressure: random() < 0.25,
      downtimeCode: random() < 0.5,
      flags: random() < 0.7,
    },
  };
}

/** Range of the initial oil rate, Sm3 a day. */
const oilRateOf: Record<Exclude<Lift, 'water-injector'>, readonly [number, number]> = {
  'natural-flow': [150, 900],
  'gas-lift': [120, 600],
  esp: [100, 700],
  srp: [5, 40],
  pcp: [8, 60],
};

/** Names in the styles of Norway, western Canada and the United States: slashes, spaces, dashes. */
function drawUwi(random: Random, ordinal: number): string {
  const number = ordinal + 1;
  switch (ordinal % 4) {
    case 0:
      return `${wholeBetween(random, 1, 35)}/${wholeBetween(random, 1, 12)}-F-${number}`;
    case 1:
      return `${wholeBetween(random, 1, 35)}/${wholeBetween(random, 1, 12)}-A-${number} ${pick(random, ['A', 'B', 'C', 'T2'])}`;
    case 2: {
      const section = `${two(wholeBetween(random, 1, 16))}-${two(wholeBetween(random, 1, 36))}`;
      return `${100 + (ordinal % 4)}/${section}-${String(number).padStart(3, '0')}-${two(wholeBetween(random, 1, 30))}W5/00`;
    }
    default:
      return `42-${wholeBetween(random, 100, 499)}-${String(30_000 + number)}-00-00`;
  }
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
