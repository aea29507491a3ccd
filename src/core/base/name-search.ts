/** Names by any part of them, in any case: the nearest first. Pure. */

/** What a name is found by: itself in small letters, and without what stands between its letters and digits. */
export interface NameKey {
  readonly lower: string;
  readonly bare: string;
}

const between = /[^\p{L}\p{N}]+/gu;

export function keyOfName(name: string): NameKey {
  const lower = name.toLowerCase();
  return { lower, bare: lower.replaceAll(between, '') };
}

/** How near: 0 the name itself, 1 it begins so, 2 a part of it begins so, 3 somewhere within, 4 without its separators. */
function rankOf({ lower, bare }: NameKey, sought: NameKey): number | undefined {
  const at = lower.indexOf(sought.lower);
  if (at === 0) return lower.length === sought.lower.length ? 0 : 1;
  if (at > 0) return /[\p{L}\p{N}]/u.test(lower.charAt(at - 1)) ? 3 : 2;
  return sought.bare !== '' && bare.includes(sought.bare) ? 4 : undefined;
}

/** Whether a name has the text as a part, in any case, or without what stands between letters and digits. */
export function hasPart(text: string): (name: string) => boolean {
  const sought = keyOfName(text.trim());
  return (name) => rankOf(keyOfName(name), sought) !== undefined;
}

const collator = new Intl.Collator('en', { numeric: true });

/** At most `limit` of the entries, the nearest first; those that are equally near by name, 9 before 10. */
export function nearestOf<Entry extends { readonly name: string; readonly key: NameKey }>(
  entries: readonly Entry[],
  text: string,
  limit: number,
): readonly Entry[] {
  const sought = keyOfName(text.trim());
  if (sought.lower === '') return [];
  const ranked: Entry[][] = [[], [], [], [], []];
  for (const entry of entries) {
    const rank = rankOf(entry.key, sought);
    if (rank !== undefined) ranked[rank]?.push(entry);
  }
  const found: Entry[] = [];
  for (const equals of ranked) {
    if (found.length >= limit) break;
    found.push(...equals.toSorted((one, other) => collator.compare(one.name, other.name)));
  }
  return found.slice(0, limit);
}
