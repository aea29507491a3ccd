/** Real networks, made by others: what the reader gives is what an independent reader finds in the file. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { PipeItem, RejectedRows } from '../../src/pipes/items.ts';
import { readPipes } from '../../src/pipes/read-pipes.ts';
import { checkTopology } from '../../src/pipes/topology.ts';

const folder = '../shared/data';
const files = existsSync(folder) ? readdirSync(folder).filter((name) => /^pipes_.*\.csv$/.test(name)) : [];
const listFields = new Set(['length', 'trueVerticalDepth', 'innerDiameter', 'roughness']);

/** Cells of a CSV text by one small state machine; knows nothing of the project's own reader. */
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

/** Each pipe as a list of `field=text`, numbers as their own text; rows of one pipe one after the other joined. */
function expectedPipes(file: string): string[][] {
  const [header = [], ...rows] = cellsOf(readFileSync(`${folder}/${file}`, 'utf8'));
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

/** The same of an item's JSON text, without parsing its numbers. */
function textsOf({ body }: PipeItem): string[] {
  const members = [...body.slice(1, -1).matchAll(/"(\w+)":(\[[^\]]*\]|"(?:[^"\\]|\\.)*"|true|false)/g)];
  return members.map(([, name = '', value = '']) => {
    const text = value.startsWith('"') ? (JSON.parse(value) as string) : value.replace(/[[\]\s]/g, '');
    return `${name}=${text}`;
  });
}

async function read(file: string): Promise<{ items: PipeItem[]; rejected: RejectedRows[] }> {
  const items: PipeItem[] = [];
  const rejected: RejectedRows[] = [];
  for await (const { entries } of readPipes({ path: `${folder}/${file}` })) {
    for (const entry of entries)
      if (entry.kind === 'item') items.push(entry);
      else rejected.push(entry);
  }
  return { items, rejected };
}

describe.skipIf(files.length === 0)('real networks (skipped without ../shared/data)', () => {
  test.each(files)('%s reads item by item as the file says, every number in its own digits', async (file) => {
    const { items, rejected } = await read(file);
    expect(rejected).toEqual([]);
    const expected = expectedPipes(file);
    expect(items.length).toBe(expected.length);
    for (const [index, item] of items.entries()) expect(textsOf(item)).toEqual(expected[index]);
  });

  test('the survey file is in the long form: 2,317 rows make 18 items', async () => {
    const { items } = await read('pipes_bsee_stones_surveys_segments.csv');
    expect(items.length).toBe(18);
    expect(items.reduce((rows, { rowCount }) => rows + rowCount, 0)).toBe(2_317);
  });

  test('bwsn2 is one network with parallel pipes, none of which is a fault', async () => {
    const { items } = await read('pipes_bwsn2.csv');
    const report = await checkTopology(items);
    const pairs = new Set(
      items.map(({ upstream = '', downstream = '' }) => [upstream, downstream].toSorted().join(' ')),
    );
    expect(pairs.size).toBeLessThan(items.length - 400);
    expect(report).toMatchObject({
      pipes: 14_822,
      networks: 1,
      duplicates: { count: 0 },
      selfLoops: { count: 0 },
      openEnds: { count: 0 },
    });
  });
});
