/** A generated field as a source: a well is generated at its first request, and cached while there is room. */
import { z } from 'zod';
import type { DailyProduction } from '../../service/contract.ts';
import { deriveXid, instantOf, WellRows } from './rows.ts';
import type { DailySource } from './daily-source.ts';
import { drawWell, type GeneratedWell } from './generated-well.ts';
import { between, createRandom, pick, type Random, wholeBetween } from './random.ts';

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
