/** The depth of JSON values. Code that follows a value by recursion must refuse one that is too deep for the stack. */

/** Levels of arrays and objects, the outermost included: far more than a record has, far fewer than a stack holds. */
export const mostLevels = 64;

/** Whether a value has more than `levels` of arrays and objects. Goes level by level, without recursion. */
export function isTooDeep(value: unknown, levels = mostLevels): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= levels; depth += 1) {
    const nested = level.filter(isNested);
    if (nested.length === 0) return false;
    level = nested.flatMap((each) => Object.values(each));
  }
  return true;
}

function isNested(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
