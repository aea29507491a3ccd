/** Messages use the face's names of an input; a face without names gets those of the members. */
import { expect, test } from 'vitest';
import { requestCoverage } from '../../../../src/app/wells/coverage.ts';
import { requestRunList } from '../../../../src/app/runs/find-runs.ts';
import { requestRestatements } from '../../../../src/app/wells/restatements.ts';

const context = { timeZone: 'UTC', nowMs: Date.parse('2024-02-01T00:00:00Z') };
const flags = { from: '--from', to: '--to', since: '--since', until: '--until' };

test.each([
  ['from "soon" is not a day', () => requestCoverage({ from: 'soon' }, context)],
  ['--from "soon" is not a day', () => requestCoverage({ from: 'soon' }, { ...context, names: flags })],
  [
    '--from 2024-01-02 is not before --to 2024-01-02',
    () => requestCoverage({ from: '2024-01-02', to: '2024-01-02' }, { ...context, names: flags }),
  ],
  ['since 2024-03-01 is not before now', () => requestRestatements({ since: '2024-03-01' }, context)],
  [
    '--since 2024-01-02 is not before --until 2024-01-01',
    () => requestRestatements({ since: '2024-01-02', until: '2024-01-01' }, { ...context, names: flags }),
  ],
  ['until "x" is not a day or a date-time', () => requestRunList({ limit: 1, until: 'x' }, context)],
])('%s', (message, ask) => {
  expect(ask).toThrow(message);
});

test('bounds are days of the calendar, and the last one is left out', () => {
  const { question, frame } = requestCoverage({ from: '2024-01-01' }, context);
  expect(question).toEqual({ fromDay: 19_723, toDay: 19_754 });
  expect(frame).toEqual({ timeZone: 'UTC', from: '2024-01-01', to: '2024-02-01' });
});
