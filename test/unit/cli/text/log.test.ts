/** What a command at a terminal says of the log. */
import { expect, test } from 'vitest';
import { createLogReader } from '../../../../src/cli/text/log.ts';

function saidOf(lines: ReadonlyArray<Readonly<Record<string, string>>>): readonly string[] {
  const said: string[] = [];
  const reader = createLogReader((text) => said.push(text));
  for (const line of lines) reader.write(JSON.stringify({ level: 'warn', ...line }));
  return said;
}

const failed = (target: string, message: string) => ({ target, msg: 'failed', message });

test('what befalls many targets alike is said of three', () => {
  const alike = ['A 1', 'A 2', 'A 3', 'A 4', 'A 5'].map((well) =>
    failed(well, `GET /daily/${encodeURIComponent(well)} answered 401`),
  );
  expect(saidOf([...alike, failed('B', 'its answer is no JSON')])).toEqual([
    'warn: A 1: failed: GET /daily/A%201 answered 401',
    'warn: A 2: failed: GET /daily/A%202 answered 401',
    'warn: A 3: failed: GET /daily/A%203 answered 401',
    'The same of others is left out: the report counts all.',
    'warn: B: failed: its answer is no JSON',
  ]);
});

test('lines without a target are all said, one that repeats the last once', () => {
  const line = { msg: 'the service is down', because: 'nothing listens' };
  const other = { msg: 'the service is up' };
  expect(saidOf([line, line, other, line])).toHaveLength(3);
});
