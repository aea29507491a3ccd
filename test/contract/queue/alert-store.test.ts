import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Observation } from '../../../src/core/run/alert.ts';
import type { AlertMessage, RunQueue } from '../../../src/queue/port.ts';
import { queueForms } from '../../support/queue-forms.ts';

describe.each(queueForms)('alerts in $name', (form) => {
  let queue: RunQueue;
  beforeAll(async () => {
    queue = await form.queue(`test-${randomUUID()}`, 'prompt');
  });
  afterAll(async () => queue.close());

  const look = (scope: string, atMs: number, ...codes: readonly string[]): Observation => ({
    scope,
    atMs,
    troubles: codes.map((code) => ({
      cause: { job: scope, schedule: null, service: 'https://pds.example.com', code },
      message: `${scope}: ${code} at ${atMs}`,
      runId: `run-${atMs}`,
    })),
  });

  async function sent(isTaken = () => true): Promise<readonly AlertMessage[]> {
    const messages: AlertMessage[] = [];
    await queue.alerts.sendWaiting(async (message) => {
      messages.push(message);
      return isTaken();
    });
    return messages;
  }

  it('are raised once a cause and ended once, in order, whatever is seen again', async () => {
    const looks = [
      look('a', 1, 'x'),
      look('a', 2, 'x', 'y'),
      look('a', 2),
      look('a', 1),
      look('a', 3, 'y'),
      look('a', 4),
    ];
    for (const each of looks) await Promise.all([queue.alerts.record(each), queue.alerts.record(each)]);
    const messages = await sent();
    expect(messages.map(({ kind, cause, atMs }) => [kind, cause.code, atMs])).toEqual([
      ['raised', 'x', 1],
      ['raised', 'y', 2],
      ['over', 'x', 3],
      ['over', 'y', 4],
    ]);
    expect(messages.map(({ id }) => id)).toEqual([0, 1, 0, 1].map((index) => messages[index]?.id));
    expect(messages[2]).toMatchObject({ raisedAtMs: 1, runId: 'run-1', message: 'a: x at 1' });
    expect(await sent()).toEqual([]);
  });

  it('wait in order for a receiver that takes them, and go to one sender at a time', async () => {
    await queue.alerts.record(look('b', 1, 'x'));
    await queue.alerts.record(look('b', 2));
    expect((await sent(() => false)).map(({ kind }) => kind)).toEqual(['raised']);
    const both = await Promise.all([sent(), sent()]);
    expect(both.flat().map(({ kind }) => kind)).toEqual(['raised', 'over']);
  });
});
