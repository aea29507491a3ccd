/** The setting `units`: the unit of a field, where it is not that of services of this kind. */
import { z } from 'zod';
import { isUnit, longestUnit, measuredFields, unknownUnit } from '../src/core/daily/units.ts';
import { listed, nearestName } from '../src/core/base/text.ts';

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
