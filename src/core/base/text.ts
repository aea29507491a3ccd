/** Text forms of figures and times, safe forms of foreign text, and the search of names by any part of them. */

/** 15,634. Without Intl, which takes 20 ms to begin with. */
export function figure(value: number): string {
  const whole = Math.round(value);
  return Number.isSafeInteger(whole) ? String(whole).replaceAll(/\B(?=(?:\d{3})+$)/g, ',') : String(value);
}

/** `1 well`, `1,200 wells`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${figure(count)} ${count === 1 ? one : many}`;
}

/** `0.4 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`. */
export function durationText(durationMs: number): string {
  const seconds = durationMs / 1_000;
  return seconds < 59.95 ? `${seconds.toFixed(1)} s` : roughDurationText(durationMs);
}

/** `4 s`, `2 min 05 s`, `1 h 02 min`: for estimates. */
export function roughDurationText(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  const twoDigits = (value: number): string => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${twoDigits(seconds % 60)} s`;
  return `${Math.floor(seconds / 3_600)} h ${twoDigits(Math.floor((seconds % 3_600) / 60))} min`;
}

/** `2 min 05 s`, `1 h 02 min`, `8 days`: for what is far away. */
export function daysAndHoursText(durationMs: number): string {
  const hours = Math.round(durationMs / 3_600_000);
  return hours < 48 ? roughDurationText(durationMs) : counted(Math.round(hours / 24), 'day');
}

/** `2024-03-31 06:15:00Z`: UTC, in any time zone of the reader. */
export function instantText(instantMs: number): string {
  return `${new Date(instantMs).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** A bound of a range: `2024-03-31` for midnight UTC, else as {@link instantText}. */
export function boundText(instantMs: number): string {
  return instantText(instantMs).replace(' 00:00:00Z', '');
}

/** `210 bytes`, `420 MB`, `1.2 GB`: decimal units. */
export function bytesText(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes < 1e4) return counted(bytes, 'byte');
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.round(bytes / 1e3)} kB`;
}

/** An instant in JSON: ISO 8601 in UTC, null for none. */
export function isoInstant(instantMs: number): string;
export function isoInstant(instantMs: number | undefined): string | null;
export function isoInstant(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString();
}

/** The column of a member: that of `runId` is `run_id`. */
export function columnOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `outsideWindow` reads `outside window`. */
export function spacedName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** Makes control characters visible: foreign text must neither break a table nor control a terminal. */
export function printable(text: string): string {
  return text.replaceAll(controls, escaped);
}

/** As printable, for a text of several lines that is ready for a terminal: keeps line ends, tabs and colours. */
export function printableLines(text: string): string {
  return text.replaceAll(controlsButLayout, (match) => (match.length > 1 ? match : escaped(match)));
}

/** C0, DEL and C1 (U+009B begins a sequence as ESC [ does), line separators, and what turns the direction of writing. */
const controls = /[\p{Cc}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

// oxlint-disable-next-line no-control-regex -- the escape of a colour is what is looked for
const controlsButLayout = /\u001B\[[\d;]*m|(?![\n\t])[\p{Cc}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** `\n`, `\u009b`. JSON.stringify leaves most of them as they are. */
function escaped(control: string): string {
  const short = JSON.stringify(control).slice(1, -1);
  return short === control ? `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}` : short;
}

/** An id unchanged, or in quotes when it is empty or holds a character that could be read as part of the sentence. */
export function quotedUnlessPlain(given: string): string {
  return /^[\w.-]+$/.test(given) ? given : JSON.stringify(given);
}

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

/** At most `most` of `known`, the nearest first, in any case; none that differs in more than a third of itself, or two. */
export function nearestNames(given: string, known: readonly string[], most: number): readonly string[] {
  if (given.length > longestName) return [];
  const sought = given.toLowerCase();
  return known
    .filter((name) => name.length <= longestName)
    .map((name) => ({ name, distance: editDistance(sought, name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(2, name.length / 3))
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, most)
    .map(({ name }) => name);
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

/** As a sentence: it begins with a capital letter, unless with a name of digits or signs, and ends with a full stop. */
export function sentence(text: string): string {
  const whole = text.trim();
  if (whole === '') return '';
  return `${whole.charAt(0).toUpperCase()}${whole.slice(1)}${/[.!?:]$/.test(whole) ? '' : '.'}`;
}

/** The start of a text that has more characters than `most`, with a mark that it goes on. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const mostNames = 20;

/** The first 20 names, and how many more there are: a file of another kind may have half a million columns. */
export function firstNames(names: readonly string[], shownAs = (name: string): string => name): string {
  const more = names.length - mostNames;
  return `${names.slice(0, mostNames).map(shownAs).join(', ')}${more > 0 ? ` and ${figure(more)} more` : ''}`;
}

// Rows of a query as text: of one form, printed or written to a file.

/** An object in one line, with its end. */
export function ndjsonLine(names: readonly string[], row: readonly unknown[]): string {
  return `${JSON.stringify(Object.fromEntries(names.map((name, position) => [name, row[position]])))}\n`;
}

/** In quotes, so that it is not null. */
const emptyText = { value: '', quoted_empty: true };

/** Options of csv-stringify: a header; null is an empty cell, the empty text `""`, a nested value its JSON. */
export function csvForm(names: readonly string[]) {
  return {
    header: true,
    columns: names.map((header, position) => ({ key: String(position), header })),
    // By default csv-stringify writes a boolean as 1 or nothing.
    cast: { boolean: String, string: (text: string) => (text === '' ? emptyText : text) },
  };
}

/** The names with numbers where one repeats: `x`, `x_2`. Pure. */
export function distinctNames(names: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : `${name}_${count}`;
  });
}

/** Undefined for a text that is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

// The depth of JSON values. Code that follows a value by recursion must refuse one that is too deep for the stack.

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

// Names by any part of them, in any case: the nearest first. Pure.

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
  // Intl takes 10 ms to begin with: most commands never get here.
  const collator = new Intl.Collator('en', { numeric: true });
  const found: Entry[] = [];
  for (const equals of ranked) {
    if (found.length >= limit) break;
    found.push(...equals.toSorted((one, other) => collator.compare(one.name, other.name)));
  }
  return found.slice(0, limit);
}
