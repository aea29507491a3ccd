/** Commands as a person gives them to a shell. */

/** One argument, be it for the shell of Windows. */
export function shellWord(text: string): string {
  if (/^[\w./:\\@%+=,-]+$/.test(text) && (process.platform === 'win32' || !text.includes('\\'))) return text;
  return process.platform === 'win32' ? `"${text}"` : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Whoever came by npx, or by a script of npm, has no such command in the PATH. */
export function programWords(): string {
  return process.env['npm_command'] === undefined ? 'wellsync' : 'npx wellsync';
}
