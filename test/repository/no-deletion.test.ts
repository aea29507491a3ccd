import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

/** The rooms from which a deletion could be asked of the service. */
const rooms = ['jobs', 'src/runs', 'src/cli'];
const deletions = /\.delete(TimeSeries|MicroStrings|Wellbores)\b/;

test('G6: nothing in wellsync asks the service to delete: there is no cleanup without its plan', () => {
  const files = rooms.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.join(room, name)),
  );
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => deletions.test(readFileSync(file, 'utf8')))).toEqual([]);
});
