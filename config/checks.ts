/** `checks`: which checks are made of daily production, and their numbers (src/core/checks). */
import { z } from 'zod';
import { severities } from '../src/core/alerts/kinds.ts';
import { checkNames, reachDays } from '../src/core/checks/settings.ts';
import { section } from './section.ts';

const checkName = z.enum(checkNames, { error: `must be a check: ${checkNames.join(', ')}` });

/** Findings rest on the rows of so many days around them, and on no more. */
const daysAround = (least: number, most = reachDays) => z.number().int().min(least).max(most);
const hours = z.number().min(0).max(24);
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
  fullFlowHours: hours.default(1),
  hoursTolerance: z.number().min(0).max(1).default(0.01),
  leastPressure: z.number().max(0).default(-14.7),
  fewestDays: daysAround(3).default(5),
  partialFromHours: hours.default(6),
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
