/** Keeps help within 80 columns: prose is wrapped at words, a long example goes on in the next line. Pure. */
export const helpWidth = 80;

/** The text with its long lines wrapped, and one blank line between its parts. */
export function helpText(text: string): string {
  const lines: string[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    lines.push(...proseLines(paragraph));
    paragraph = [];
  };
  for (const line of text.split('\n')) {
    if (/^\S/.test(line)) paragraph.push(line);
    else {
      endParagraph();
      lines.push(...indentedLines(line));
    }
  }
  endParagraph();
  return lines.join('\n').replaceAll(/\n{3,}/g, '\n\n');
}

/** A paragraph whose lines all fit stays as it is. */
function proseLines(lines: readonly string[]): readonly string[] {
  return lines.every((line) => line.length <= helpWidth) ? lines : wrapped(lines.join(' '), '', '');
}

/** A long example goes on after a backslash, as a shell reads it; any other line goes on below its text. */
function indentedLines(line: string): readonly string[] {
  if (line.length <= helpWidth) return [line];
  if (line.startsWith('  $ ')) return wrapped(line, '      ', ' \\');
  return wrapped(line, ' '.repeat(/^ +(?:\S+ {2,})?/.exec(line)?.[0].length ?? 2), '');
}

function wrapped(text: string, indent: string, lineEnd: string): readonly string[] {
  if (text.length <= helpWidth) return [text];
  const end = text.lastIndexOf(' ', helpWidth - lineEnd.length);
  if (end <= indent.length) return [text];
  return [text.slice(0, end) + lineEnd, ...wrapped(indent + text.slice(end + 1), indent, lineEnd)];
}
