/** A generated well: its name, lift and reservoir constants, drawn once from a seed. */
import { between, pick, type Random, wholeBetween } from './random.ts';

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
