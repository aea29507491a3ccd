/** Sections of settings that may be left out. */
import { z } from 'zod';

/** A setting that has a default or may be left out. */
interface OptionalSetting extends z.core.$ZodType {
  readonly _zod: z.core.$ZodType['_zod'] & { readonly optin: 'optional' | 'defaulted' };
}

/** Settings by name; the section as a whole may be left out too. */
export function section<Shape extends Readonly<Record<string, OptionalSetting>>>(shape: Shape) {
  // Nothing is missing in it, which the compiler cannot tell of a Shape that it does not know.
  return z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>);
}
