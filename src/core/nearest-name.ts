/** Decides which known name a mistyped one most likely stands for. Pure. */

/** The nearest of `known`; undefined where even that one differs in more than a third of its characters, two in a short one. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const distances = known.map((name) => ({ name, distance: editDistance(given, name) }));
  const [nearest] = distances.toSorted((left, right) => left.distance - right.distance);
  return nearest !== undefined && nearest.distance <= Math.max(2, nearest.name.length / 3) ? nearest.name : undefined;
}

/** Insertions, removals and replacements that make one text of the other (Levenshtein). */
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
