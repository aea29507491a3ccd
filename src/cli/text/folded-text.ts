/** Prose wrapped for a terminal: broken at blanks. Pure. */
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';

/**
 * The text in lines of at most `width` columns of a terminal, all but the first after `indent`; a wider word stays
 * whole. Infinity, for a pipe or a file, leaves it on one line.
 */
export function folded(text: string, width: number, indent = ''): string {
  if (stringWidth(text) <= width) return text;
  const lead = /^ */.exec(text)?.[0] ?? '';
  const room = Math.max(1, width - Math.max(lead.length, indent.length));
  return `${lead}${wrapAnsi(text.slice(lead.length), room).replaceAll('\n', `\n${indent}`)}`;
}

/** A hint with its sentences on separate lines if one line is too short; a command to be copied is never broken. */
export function foldedHint(hint: string, width: number): string {
  if (hint.includes('\n'))
    return hint
      .split('\n')
      .map((line) => foldedHint(line, width))
      .join('\n');
  if (stringWidth(hint) <= width) return hint;
  const sentences = hint.split(/(?<=[.?]) (?=[A-Z])/);
  return sentences.map((line) => (line.includes('wellsync ') ? line : folded(line, width))).join('\n');
}
