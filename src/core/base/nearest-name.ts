/** No name that is known is longer: a longer text is compared with none. */
const longestName = 100;

/**
 * The nearest of `known`; undefined when it differs in more than `mostOff` characters: by default a third of the known
 * name, or two of a short one.
 */
export function nearestName(given: string, known: readonly string[], mostOff?: number): string | undefined {
  if (given.length > longestName) return undefined;
  const distances = known.map((name) => ({ name, distance: editDistance(given, name) }));
  const [nearest] = distances.toSorted((left, right) => left.distance - right.distance);
  if (nearest === undefined) return undefined;
  return nearest.distance <= (mostOff ?? Math.max(2, nearest.name.length / 3)) ? nearest.name : undefined;
}

/** Levenshtein distance: insertions, removals and replacements that turn one text into the other. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let index = 0; index < left.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (left[index] === right[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
