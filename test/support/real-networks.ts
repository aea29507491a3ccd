/** Real networks, with a reader that is independent of the project's own. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';

/** Not part of the project; tests skip where it is absent. */
export const realDataFolder = '../shared/data';
export const realPipeFiles = existsSync(realDataFolder)
  ? readdirSync(realDataFolder).filter((name) => /^pipes_.*\.csv$/.test(name))
  : [];
/** The reason to skip; undefined if the networks are present. */
export const realPipesLack =
  realPipeFiles.length > 0
    ? undefined
    : `the real networks are not beside this checkout (${realDataFolder}/pipes_*.csv)`;
const listFields = new Set(['length', 'trueVerticalDepth', 'innerDiameter', 'roughness']);

/** Cells of a CSV text, by a small state machine independent of the project's reader. */
function cellsOf(text: string): string[][] {
  const rows: string[][] = [];
  let [row, cell, isQuoted] = [[] as string[], '', false];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isQuoted && character === '"' && text[index + 1] === '"') {
      cell += '"';
      index += 1;
    } else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === ',' || character === '\n')) {
      row.push(cell);
      cell = '';
      if (character === '\n') rows.push(row.splice(0));
    } else if (isQuoted || character !== '\r') cell += character;
  }
  return cell === '' && row.length === 0 ? rows : [...rows, [...row, cell]];
}

/** A CSV dialect to rewrite a file in. */
export interface Dialect {
  readonly delimiter: string;
  readonly lineEnd: string;
  readonly start: string;
  /** Lists unchanged, with `;` between the numbers, or with a row for each number. */
  readonly lists: 'as they are' | 'semicolons' | 'rows';
}

/** The content of the file in another dialect, with every cell quoted that requires it. */
export function inDialect(file: string, { delimiter, lineEnd, start, lists }: Dialect): string {
  const [header = [], ...rows] = cellsOf(readFileSync(`${realDataFolder}/${file}`, 'utf8'));
  const isList = header.map((name) => listFields.has(name));
  const numbers = (cell: string): string[] => cell.replace(/[[\]\s]/g, '').split(',');
  const written = rows.flatMap((row) => {
    if (lists === 'as they are') return [row];
    if (lists === 'semicolons') return [row.map((cell, index) => (isList[index] ? numbers(cell).join(';') : cell))];
    const segments = Math.max(...row.map((cell, index) => (isList[index] ? numbers(cell).length : 1)));
    return Array.from({ length: segments }, (_, segment) =>
      row.map((cell, index) => (isList[index] ? (numbers(cell)[segment] ?? '') : cell)),
    );
  });
  const quoted = (cell: string): string => {
    const needsQuotes = cell.includes('"') || cell.includes(delimiter) || cell.includes('\n');
    return needsQuotes ? `"${cell.replaceAll('"', '""')}"` : cell;
  };
  return start + [header, ...written].map((row) => row.map(quoted).join(delimiter) + lineEnd).join('');
}

/** Each pipe as a list of `field=text`, with the original text of numbers; adjacent rows of one pipe are joined. */
export function expectedPipes(file: string): string[][] {
  const [header = [], ...rows] = cellsOf(readFileSync(`${realDataFolder}/${file}`, 'utf8'));
  const pipes: { key: string; fields: Map<string, string[]> }[] = [];
  for (const row of rows) {
    const key = `${row[0]} ${row[1]}`;
    if (pipes.at(-1)?.key !== key) pipes.push({ key, fields: new Map() });
    const fields = pipes.at(-1)?.fields;
    row.forEach((cell, index) => {
      const name = header[index] ?? '';
      if (cell === '') return;
      if (listFields.has(name))
        fields?.set(name, [...(fields.get(name) ?? []), ...cell.replace(/[[\]\s]/g, '').split(',')]);
      else fields?.set(name, [cell]);
    });
  }
  return pipes.map(({ fields }) => [...fields].map(([name, values]) => `${name}=${values.join(',')}`));
}

/** The same for a pipe's JSON text, without parsing its numbers. */
export function textsOf(body: string): string[] {
  const members = [...body.slice(1, -1).matchAll(/"(\w+)":(\[[^\]]*\]|"(?:[^"\\]|\\.)*"|true|false)/g)];
  return members.map(([, name = '', value = '']) => {
    const text = value.startsWith('"') ? (JSON.parse(value) as string) : value.replace(/[[\]\s]/g, '');
    return `${name}=${text}`;
  });
}
