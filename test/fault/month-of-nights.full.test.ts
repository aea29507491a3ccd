/** A month of nights by a moved clock: what was mailed, what the receiver got, and what stood open, beside what should have been. */
import { describe, expect, test } from 'vitest';
import { movedClockLack } from '../support/month/clock.ts';
import { hasHeartbeat, type Matter, mailed, matters, nights, receiverAway } from '../support/month/faults.ts';
import { type MonthOptions, runMonth, type SeenMonth } from '../support/month/nights.ts';
import { createRandom } from '../../src/testing-server/data/rows.ts';

const lack = movedClockLack();
const everyNight = Array.from({ length: nights + 1 }, (_, night) => night);

function openOn(night: number, expected: readonly Matter[]): readonly string[] {
  const now = expected.filter(
    ({ from, until, silent = [] }) => from <= night && night < until && !silent.includes(night),
  );
  return now.flatMap(({ kind, targets }) => targets.map((target) => `${kind} ${target}`)).toSorted();
}

/** A message that the receiver does not take comes with the next night that it does. */
function messagesOf(expected: readonly Matter[]): ReadonlyArray<{ readonly night: number; readonly words: string }> {
  const taken = (night: number): number => (receiverAway.includes(night) ? taken(night + 1) : night);
  return expected.flatMap(({ kind, targets, from, until, overOn = until, again = [] }) => {
    const end = until > nights ? [] : [{ night: overOn, change: 'resolved' }];
    return [{ night: from, change: 'opened' }, ...again, ...end].map(({ night, change }) => ({
      night: taken(night),
      words: `${change} ${kind} ${targets.join(', ')}`,
    }));
  });
}

function tableOf({ nights: seen, messages, beats }: SeenMonth): string {
  return seen
    .map(({ code, isKilled: isAgain, open }, night) => {
      const sent = messages.filter((each) => each.night === night);
      const words = sent.map(
        ({ change, kind, targets, alerts }) => `${change} ${kind} ${alerts}: ${targets.join(', ')}`,
      );
      return `${night}: exit ${code}${isAgain ? ', after a kill' : ''}${beats.includes(night) ? ', heartbeat' : ''}\n  open: ${open.join('; ')}\n  sent: ${words.join('; ')}`;
    })
    .join('\n');
}

async function expectMonth(options: MonthOptions): Promise<void> {
  const isKilled = everyNight.some((night) => options.killAfterMs(night) !== undefined);
  const seen = await runMonth(options);
  const table = tableOf(seen);
  if (process.env['WELLSYNC_TEST_MONTH'] !== undefined) console.log(table);
  expect(
    seen.nights.map(({ open }, night) => [night, ...open]),
    table,
  ).toEqual(everyNight.map((night) => [night, ...openOn(night, matters)]));
  const said = seen.nights.map(({ code, said: words }, night) => `${night} ${code} ${code === 0 ? words : ''}`.trim());
  // A command that goes on with what a killed one left does not tell of it by its own exit code.
  if (!isKilled) {
    expect(
      seen.nights.map(({ code }, night) => [night, code]),
      `${table}\n${said.join('\n')}`,
    ).toEqual(everyNight.map((night) => [night, mailed.get(night) ?? 0]));
  }
  // The first one says that a warehouse is made.
  expect(seen.nights.slice(1).filter(({ code, said: words }) => code === 0 && words !== '')).toEqual([]);
  expect(seen.nights[25]?.pushCode).toBe(3);
  const sent = seen.messages.map(({ night, change, kind, targets }) => ({
    night,
    words: `${change} ${kind} ${targets.join(', ')}`,
  }));
  const wanted = messagesOf(matters);
  expect(sent.map(({ words }) => words).toSorted(), table).toEqual(wanted.map(({ words }) => words).toSorted());
  const nightsOf = (all: ReturnType<typeof messagesOf>) =>
    all.map(({ night, words }) => `${night} ${words}`).toSorted();
  if (!isKilled) expect(nightsOf(sent), table).toEqual(nightsOf(wanted));
  if (!isKilled) expect([...new Set(seen.beats)], table).toEqual(everyNight.filter(hasHeartbeat));
}

describe.skipIf(lack !== undefined)(`a month of nights${lack === undefined ? '' : ` (${lack})`}`, () => {
  test('says what should be said, of each night, and nothing else', () =>
    expectMonth({ killAfterMs: () => undefined }));

  /** Not at the start, where wells are that the list has no more, nor on the last one: what is left is told of by the next. */
  const isKilledOn = (night: number): boolean => night % 3 === 0 && night > 2 && night < nights;

  test('says the same when commands are killed on the way, and given again', async () => {
    const random = createRandom('kills of a month');
    await expectMonth({
      killAfterMs: (night) => (isKilledOn(night) ? 300 + Math.floor(1_500 * random()) : undefined),
    });
  });
});
