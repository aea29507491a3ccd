import { expect, test } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import { networkPipes } from '../../../../jobs/network-pipes/counts.ts';
import { adviceOf, faultDocument, faultText, nextStepOf } from '../../../../src/cli/text/actions.ts';
import { type Fault, UsageError } from '../../../../src/core/base/errors.ts';

test.each<[Partial<Fault>, string | undefined]>([
  [{}, undefined],
  [{ hint: 'As an older version wrote it: wellsync runs list' }, 'As an older version wrote it: wellsync runs list'],
  [{ action: { kind: 'retry-run', runId: 'r1' } }, 'Retry what is not done: wellsync runs retry r1'],
  [
    { hint: 'Look at the log.', action: { kind: 'list-runs' } },
    'Look at the log. wellsync runs list shows the runs that there are.',
  ],
  [{ action: { kind: 'set-setting', setting: 'export.historyFrom' } }, 'Set export.historyFrom in the configuration.'],
])('the advice of %j is %j', (fault, advice) => {
  expect(adviceOf(fault)).toBe(advice);
});

test('an action that only a newer version knows leaves the hint', () => {
  const stored = JSON.parse('{ "hint": "Look at the log.", "action": { "kind": "call-home" } }') as Fault;
  expect(adviceOf(stored)).toBe('Look at the log.');
});

test('an error is printed with its action as a command, and its JSON has the action besides', () => {
  const error = new UsageError('there is no run r1', { action: { kind: 'list-runs' } });
  const hint = 'wellsync runs list shows the runs that there are.';
  expect(faultText(error, 80)).toBe(`wellsync: there is no run r1\n${hint}`);
  expect(faultDocument(error).error).toMatchObject({ hint, action: { kind: 'list-runs' } });
});

test('a next step is worded with the units of the job', () => {
  const retry = { kind: 'retry-run', runId: 'r1' } as const;
  expect(nextStepOf(retry, dailyProduction)).toEqual(['wellsync runs retry r1', 'retries the wells that are not done']);
  expect(nextStepOf(retry, networkPipes)[1]).toBe('goes on with the file where it stopped');
  expect(nextStepOf({ kind: 'release-rows', runId: 'r1' }, dailyProduction)).toEqual([
    'wellsync runs release r1',
    'asks, then lets the held rows of these wells go',
  ]);
});
