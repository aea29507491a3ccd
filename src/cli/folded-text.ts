/** Decides where prose is cut into lines: at blanks, so that a terminal does not cut it within a word. Pure. */

/**
 * The text in lines of at most `width` characters, those after the first one behind `indent`; a word that is longer stays
 * whole. Infinity, for a pipe or a file, leaves it on one line.
 */
export function folded(text: string, width: number, indent = ''): string {
  if (text.length <= width) return text;
  const room = text.lastIndexOf(' ', width);
  // Blanks at the start are no place to cut: nothing would be before it.
  const first = text.search(/\S/);
  const at = room > first ? room : text.indexOf(' ', first);
  if (at === -1) return text;
  return `${text.slice(0, at)}\n${folded(`${indent}${text.slice(at + 1)}`, width, indent)}`;
}

/** A hint with its sentences on lines of their own where one line is too short; a command to be copied is never cut. */
export function foldedHint(hint: string, width: number): string {
  if (hint.length <= width) return hint;
  const sentences = hint.split(/(?<=[.?]) (?=[A-Z])/);
  return sentences.map((line) => (line.includes('wellsync ') ? line : folded(line, width))).join('\n');
}
