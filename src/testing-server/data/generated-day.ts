/** One day of a generated well: decline, water, gas, pressures, and the fields of its lift. */
import type { DailyProduction } from '../../service/contract.ts';
import type { GeneratedWell } from './generated-well.ts';
import { between, type Random } from './random.ts';

/** Conditions of a day, apart from the properties of the well. */
export interface DayConditions {
  /** Years since the well started. */
  readonly years: number;
  /** 24 for a shut-in. */
  readonly downtimeHours: number;
  readonly downtimeCode: string | null;
  /** Factor around 1: daily variation, and gains of a workover. */
  readonly productivity: number;
}

export type Measures = Omit<DailyProduction, 'xid' | 'date'>;

/**
 * The measures of a day, in metric units: Sm3 a day, bar, degrees Celsius; torque in lbf-ft. Fields of another lift are
 * absent.
 */
export function measuresOf(well: GeneratedWell, day: DayConditions, random: Random): Measures {
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
