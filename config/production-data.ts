/** The settings of production data, `checks` and `units`, and sections that may be left out. */
import { z } from 'zod';
import { severities } from '../src/core/alerts/kinds.ts';
import { listed, nearestName } from '../src/core/base/text.ts';
import { checkNames, reachDays } from '../src/core/checks/check.ts';
import { isUnit, longestUnit, measuredFields, unknownUnit } from '../src/core/daily/units.ts';

const checkName = z.enum(checkNames, { error: `must be a check: ${checkNames.join(', ')}` });

/** Findings rest on the rows of so many days around them, and on no more. */
const daysAround = (least: number, most = reachDays) => z.number().int().min(least).max(most);
const checkedHours = z.number().min(0).max(24);
const percent = z.number().min(0).max(100);

/** A ratio of 1 is every day, and one near it is noise. */
const factor = z
  .number()
  .positive()
  .max(1e6)
  .refine(
    (value) => value <= 0.5 || value >= 2,
    'must be 0.5 or less, or 2 or more: values change by less from day to day',
  );

export const checkSettings = section({
  enabled: z.boolean().default(true),
  off: z.array(checkName).default([]),
  severity: z.partialRecord(checkName, z.enum(severities)).default({}),
  fullFlowHours: checkedHours.default(1),
  hoursTolerance: z.number().min(0).max(1).default(0.01),
  leastPressure: z.number().max(0).default(-14.7),
  fewestDays: daysAround(3).default(5),
  partialFromHours: checkedHours.default(6),
  medianDays: daysAround(3).default(14),
  ratePercent: percent.max(10, 'must be 10 or less: the two rates are told apart by it').default(10),
  repeatDays: daysAround(2).default(3),
  jumpDays: daysAround(3, reachDays / 2).default(7),
  jumpSettleDays: daysAround(0, 7).default(3),
  jumpDeviations: z.number().min(1).max(100).default(3),
  jumpPercent: percent.default(25),
  unitDays: daysAround(2).default(3),
  unitPercent: z.number().min(0.1).max(10).default(1),
  unitFactors: z.array(factor).min(1).max(20).default([6.2898, 35.3147, 14.5038, 0.3048]),
}).superRefine(({ fullFlowHours, partialFromHours, fewestDays, medianDays, jumpDays }, context) => {
  const refuse = (name: string, message: string): void => context.addIssue({ code: 'custom', path: [name], message });
  if (partialFromHours <= fullFlowHours || partialFromHours >= 24) {
    refuse('partialFromHours', `must be above fullFlowHours (${fullFlowHours}) and below 24`);
  }
  if (medianDays < fewestDays) refuse('medianDays', `must be fewestDays (${fewestDays}) or more`);
  if (2 * jumpDays < fewestDays) refuse('jumpDays', `must be half of fewestDays (${fewestDays}) or more`);
});

// The setting `units`: the unit of a field, where it is not that of services of this kind.

const unit = z
  .string({ error: `must be a text, such as m3/d, or ${unknownUnit}` })
  .refine(
    isUnit,
    `must be the name of a unit, such as m3/d, in one line of at most ${longestUnit} characters, or ${unknownUnit}`,
  );

/** The hours down are subtracted from the hours of a day. */
const hours = 'downtimeHours';

export const unitSettings = z
  .record(z.string(), unit)
  .superRefine((units, context) => {
    for (const [name, value] of Object.entries(units)) {
      const fault = faultOf(name, value);
      if (fault !== undefined) context.addIssue({ code: 'custom', path: [name], message: fault });
    }
  })
  .default({});

function faultOf(name: string, value: string): string | undefined {
  if (!measuredFields.includes(name)) {
    const near = nearestName(name, measuredFields);
    const meant = near === undefined ? `they are ${listed(measuredFields)}` : `did you mean ${near}?`;
    return `is no field with a unit: ${meant}`;
  }
  const isOther = name === hours && value !== 'h' && value !== unknownUnit;
  return isOther ? `must be h or ${unknownUnit}: it is subtracted from the hours of a day` : undefined;
}

// Sections of settings that may be left out.

/** A setting that has a default or may be left out. */
interface OptionalSetting extends z.core.$ZodType {
  readonly _zod: z.core.$ZodType['_zod'] & { readonly optin: 'optional' | 'defaulted' };
}

/** Settings by name; the section as a whole may be left out too. */
export function section<Shape extends Readonly<Record<string, OptionalSetting>>>(shape: Shape) {
  // Nothing is missing in it, which the compiler cannot tell of a Shape that it does not know.
  return z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>);
}
