/** The ticks of schedules in Redis: what is written once, what is left alone, and what Redis has lost. */
import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { queueName } from '../../../src/queue/redis/queue-names.ts';
import { createRunQueue } from '../../../src/queue/redis/run-queue.ts';
import type { NextTick, TickSchedule } from '../../../src/queue/port.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const nightly: TickSchedule = { name: 'nightly', cron: '15 2 * * *', timeZone: 'Europe/Oslo' };
const weekly: TickSchedule = { name: 'weekly', cron: '0 5 * * 0', timeZone: 'UTC' };
const hourMs = 3_600_000;
/** No cron is read here: the ticks are those that the caller says. */
const nextTick: NextTick = (_, afterMs) => Math.floor(afterMs / hourMs) * hourMs + hourMs;

async function ticksHere() {
  const address = {
    redis: { url: sharedRedisUrl() },
    prefix: `ticks-${randomUUID()}`,
    service: 'https://pds.example.com',
  };
  const runQueue = await createRunQueue(address, 'lasting');
  const connection = new Redis(address.redis.url, { maxRetriesPerRequest: null });
  const queue = new Queue(queueName('ticks', address.service), { connection, prefix: address.prefix });
  return {
    runQueue,
    queue,
    keys: async () => (await queue.getJobSchedulers(0, -1, true)).map(({ key }) => key),
    delayed: async () => (await queue.getDelayed()).map(({ id, data }) => [id, data] as const),
    async [Symbol.asyncDispose]() {
      await queue.obliterate({ force: true });
      await queue.close();
      connection.disconnect();
      await runQueue.close();
    },
  };
}

test('each schedule has one tick to come, whoever writes it and however often', async () => {
  await using here = await ticksHere();
  const { runQueue } = here;
  await Promise.all([1, 2, 3].map(() => runQueue.keepTicks([nightly, weekly], nextTick)));
  const [first, second, ...more] = await here.delayed();
  expect(more).toEqual([]);
  expect([first?.[1], second?.[1]]).toEqual(expect.arrayContaining([{ schedule: 'nightly' }, { schedule: 'weekly' }]));
  expect(Number(first?.[0]?.split(':').at(-1)) % hourMs).toBe(0);
});

test('one that is due and was not taken stays when the schedules are written again', async () => {
  await using here = await ticksHere();
  await here.runQueue.keepTicks([nightly], () => Date.now() + 1);
  const due = await here.delayed();
  await here.runQueue.keepTicks([nightly], nextTick);
  expect(await here.delayed()).toEqual(due);
});

test('one that changed or left goes, and what others wrote stays', async () => {
  await using here = await ticksHere();
  await here.queue.upsertJobScheduler('of-another', { every: hourMs });
  await here.runQueue.keepTicks([nightly, weekly], nextTick);
  await here.runQueue.keepTicks([{ ...nightly, timeZone: 'UTC' }], nextTick);
  expect(new Set(await here.keys())).toEqual(new Set(['of-another', 'schedule:nightly']));
  expect(await here.queue.getJobScheduler('schedule:nightly')).toMatchObject({ tz: 'UTC', pattern: '15 2 * * *' });
});

test('one that only another version can read stays as that one wrote it', async () => {
  await using here = await ticksHere();
  await here.runQueue.keepTicks([nightly, weekly], nextTick);
  await here.runQueue.keepTicks([nightly], nextTick, ['weekly']);
  expect(new Set(await here.keys())).toEqual(new Set(['schedule:nightly', 'schedule:weekly']));
});

test('G7: one that Redis has lost is there again', async () => {
  await using here = await ticksHere();
  await here.runQueue.keepTicks([nightly], nextTick);
  await here.queue.obliterate({ force: true });
  expect(await here.delayed()).toEqual([]);
  await here.runQueue.keepTicks([nightly], nextTick);
  expect(await here.delayed()).toHaveLength(1);
});
