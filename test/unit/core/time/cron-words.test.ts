import { expect, test } from 'vitest';
import { readCron } from '../../../../config/schedules.ts';
import { cronWords } from '../../../../src/core/time/schedule-ticks.ts';

test.each([
  ['15 2 * * *', 'every day at 02:15'],
  ['0 2,14 * * *', 'every day at 02:00 and 14:00'],
  ['*/30 6-18 * * 1-5', 'every 30 minutes from 06:00 to 18:30, Monday to Friday'],
  ['0 7 1 * *', 'on day 1 of each month at 07:00'],
  ['0 7 1 1,7 *', 'on day 1 of January and July at 07:00'],
  ['0 4 * * 0', 'each Sunday at 04:00'],
  ['0 4 * * 1,3', 'each Monday and Wednesday at 04:00'],
  ['0 4 1 * 1', 'on day 1 of each month, and each Monday at 04:00'],
  ['0 4 * 12 *', 'every day in December at 04:00'],
  ['* * * * *', 'every minute'],
  ['*/5 * * * *', 'every 5 minutes'],
  ['0 * * * *', 'every hour'],
  ['20 * * * *', 'every hour at minute 20'],
  ['20 6-18 * * *', 'every hour at minute 20 from 06:20 to 18:20'],
  ['0 */4 * * *', 'every 4 hours from 00:00'],
  ['0,10 1,5,9 * * *', '6 times a day from 01:00 to 09:10'],
])('%s reads %j', (cron, words) => {
  const fields = readCron(cron);
  if ('fault' in fields) throw new Error(fields.fault);
  expect(cronWords(fields)).toBe(words);
});
