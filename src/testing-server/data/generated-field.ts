/** A generated field: the same seed gives the same wells, days and values. */
import { z } from 'zod';
import type { DailyProduction } from '../../service/contract.ts';
import { deriveXid } from './daily-row.ts';
import { measuresOf } from './generated-day.ts';
import { drawWell, type GeneratedWell } from './generated-well.ts';
import { between, createRandom, pick, type Random, wholeBetween } from './random.ts';

const DAY_MS = 86_400_000;
const DAYS_A_YEAR = 365.25;

const day = z.iso.date();

/** Of a field where no days are given. */
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

export interface GeneratedField {
  readonly wells: readonly GeneratedWell[];
  /** Number of rows, without generating them: one for every day from the start of the well to the end of the field. */
  rowCount(well: GeneratedWell): number;
  /** Rows in order of date, generated at each call. */
  rows(well: GeneratedWell): DailyProduction[];
}

/** Throws ZodError for wrong options. */
export function generateField(options: GeneratedFieldOptions = {}): GeneratedField {
  const { seed, wells, fromDay, toDay } = generatedFieldSchema.parse(options);
  const fromMs = Date.parse(fromDay);
  const dayCount = (Date.parse(toDay) - fromMs) / DAY_MS;
  return {
    wells: Array.from({ length: wells }, (_, ordinal) =>
      drawWell(createRandom(`${seed} well ${ordinal}`), ordinal, dayCount),
    ),
    rowCount: (well) => dayCount - well.startsAfterDays,
    rows: (well) => [...daysOf(well, createRandom(`${seed} days ${well.uwi}`), fromMs, dayCount)],
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

interface CourseDay {
  readonly downtimeHours: number;
  readonly downtimeCode: string | null;
  readonly productivity: number;
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
function drawDowntime(random: Random): { readonly downtimeHours: number; readonly downtimeCode: string | null } {
  if (random() >= 1 / 16) return { downtimeHours: 0, downtimeCode: null };
  return { downtimeHours: 0.25 + 20 * random() ** 3, downtimeCode: pick(random, ['POWER', 'TEST', 'WEATHER', 'TRIP']) };
}
