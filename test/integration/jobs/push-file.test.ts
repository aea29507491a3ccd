/** One file pushed by workers that are interrupted at any point, to a real service and into a real warehouse. */
import { existsSync } from 'node:fs';
import { appendFile, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AbortedError,
  NotFoundError,
  PermanentError,
  TransientError,
  UsageError,
} from '../../../src/core/base/errors.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { tenColumns } from '../../support/pipes.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { bySuite } from '../../support/suite-size.ts';
import { pushUnderTest, type PushedFile } from '../../support/push-under-test.ts';
import { ask } from '../../support/warehouse-batches.ts';

/** A row of pipe `pipe`; its length identifies its version, and a row without one is invalid. */
const row = (pipe: number, version: number): string => `N,P${pipe},,,,,[${version}],,,`;
const wrong = (pipe: number): string => `N,P${pipe},,,,,[-1],,,`;
const fileText = (rows: readonly string[]): string => `${[tenColumns, ...rows].join('\n')}\n`;
const rowsOf = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => row(index, index));

/**
 * Attempts without an interruption: each may meet three consecutive faults of the service, and leaves the rest to the
 * next.
 */
const attemptsToEnd = Array.from({ length: 10 }, () => Infinity);

/** Works the file until it is done, aborting the first attempts after these numbers of requests. */
async function workThrough(pushed: PushedFile, interruptions: readonly number[], aborts: Aborts): Promise<void> {
  for (const requests of [...interruptions, ...attemptsToEnd]) {
    const left = await pushed.work({ signal: aborts.after(requests) });
    if (left === undefined) return;
    const isAborted = left.error instanceof AbortedError && requests < Infinity;
    if (!isAborted) expect(left.error).toBeInstanceOf(TransientError);
  }
  expect.fail(`no attempt of ${attemptsToEnd.length} came to its end`);
}

/** A signal that aborts after a number of further requests. */
class Aborts {
  #left = Infinity;
  #controller = new AbortController();

  after(requests: number): AbortSignal {
    this.#left = requests;
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  readonly onRequest = async (): Promise<undefined> => {
    this.#left -= 1;
    if (this.#left < 0) this.#controller.abort(new AbortedError());
  };
}

describe('a pushed file', () => {
  test('G1, G2, G5, G7: wherever the workers of a push are interrupted, the service ends with the last row of each pipe and every row counts once', async () => {
    const aborts = new Aborts();
    const faults = { resetAfterStoring: 0.1, unavailable: 0.05 };
    await using server = await startTestingServer({ faults, rejectSourceIds: ['P0'], onRequest: aborts.onRequest });
    await using push = await pushUnderTest(server.url);
    const someRow = fc.record({ pipe: fc.nat(8), isWrong: fc.boolean() });
    const property = fc.asyncProperty(
      fc.array(someRow, { minLength: 1, maxLength: 40 }),
      fc.array(fc.nat(6), { maxLength: 4 }),
      async (rows, interruptions) => {
        server.state.received.reset();
        const texts = rows.map(({ pipe, isWrong }, version) => (isWrong ? wrong(pipe) : row(pipe, version)));
        const pushed = await push.fileOf(fileText(texts));
        await workThrough(pushed, interruptions, aborts);

        const last = new Map<string, string>();
        for (const [version, { pipe, isWrong }] of rows.entries()) {
          if (!isWrong && pipe > 0)
            last.set(`P${pipe}`, `{"sourceNetworkId":"N","sourceId":"P${pipe}","length":[${version}]}`);
        }
        expect(new Map(server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw]))).toEqual(last);
        const { counts, balanced, units } = await push.totalsOf(pushed);
        expect({ rows: counts['rows'], balanced, done: units.done }).toEqual({
          rows: rows.length,
          balanced: true,
          done: 1,
        });
        const rejected = (counts['rejectedByUs'] ?? 0) + (counts['rejectedByService'] ?? 0);
        const text = rejected === 0 ? '' : await readFile(pushed.rejectsFile, 'utf8');
        const lines = text
          .split('\n')
          .slice(1, -1)
          .map((line) => Number(line.split(',')[0]));
        expect(lines).toHaveLength(rejected);
        expect(lines).toEqual(lines.toSorted((left, right) => left - right));
      },
    );
    await expectForAllAsync(property, bySuite(10, 25));
  });

  test('tells its progress in bytes and rows, and what the file is like in its notices', async () => {
    await using server = await startTestingServer();
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(
      gzipSync('sourceNetworkId,sourceId,length,innerDiameter\nN,P1,"[1,2]",[3]\nN,P2,[-1],[3]\n'),
    );
    await pushed.work();
    expect(pushed.advances.at(-1)).toMatchObject({
      unit: 0,
      done: 77,
      whole: 77,
      counts: { rows: 2, accepted: 1, rejectedByUs: 1 },
    });
    expect((await push.totalsOf(pushed)).notices).toEqual([
      'file: pipes.csv',
      'columns that the file does not have: date, upstreamSourceId, downstreamSourceId, enabled, trueVerticalDepth, roughness',
      expect.stringMatching(/^rejected: line 3, column length: /),
    ]);
  });

  test('has a line in the ledger for each chunk, in the order of the file', async () => {
    await using server = await startTestingServer({ rejectSourceIds: ['P4'] });
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(fileText(rowsOf(7)));
    await pushed.work();
    expect(
      await ask(push.warehouse, 'SELECT chunk, first_line, last_line, items, status FROM push_ledger ORDER BY chunk'),
    ).toEqual([
      [0, 2, 4, 3, 'accepted'],
      [1, 5, 7, 3, 'accepted-in-part'],
      [2, 8, 8, 1, 'accepted'],
    ]);
  });

  test('that has changed since it was asked for stops the push', async () => {
    await using server = await startTestingServer();
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(fileText(rowsOf(3)));
    await appendFile(pushed.file, `${row(9, 9)}\n`);
    const left = await pushed.work();
    expect(left?.error).toBeInstanceOf(PermanentError);
    expect(left?.error).toMatchObject({ code: 'source-changed' });
  });

  test('that was only touched goes on', async () => {
    await using server = await startTestingServer();
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(fileText(rowsOf(3)));
    await utimes(pushed.file, 1, 1);
    expect(await pushed.work()).toBeUndefined();
  });

  test('that is not there for the worker says where it must lie', async () => {
    await using server = await startTestingServer();
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(fileText(rowsOf(3)));
    await rm(pushed.file);
    const left = await pushed.work();
    expect(left?.error).toMatchObject({
      code: 'source-missing',
      hint: expect.stringContaining('every worker can read it'),
    });
  });

  test('with a fault of its own further down has everything before it sent and counted, and then fails', async () => {
    await using server = await startTestingServer();
    await using push = await pushUnderTest(server.url);
    const text = Buffer.concat([Buffer.from(fileText(rowsOf(5))), Buffer.from([0x4e, 0x2c, 0xe6, 0x0a])]);
    const pushed = await push.fileOf(text);
    const left = await pushed.work();
    expect(left?.error).toBeInstanceOf(UsageError);
    // The parser keeps the row before the faulty byte until it knows that its line ends there.
    const sent = server.state.pipes().length;
    expect(sent).toBeGreaterThanOrEqual(4);
    await push.warehouse.ledger.runs.settle(pushed.runId, [{ unit: 0, state: 'failed', counts: {} }]);
    expect(await push.totalsOf(pushed)).toMatchObject({ counts: { rows: sent, accepted: sent }, balanced: true });
  });

  test('of standard input is removed when it has arrived, and kept while it has not', async () => {
    let isDown = true;
    await using server = await startTestingServer({ onRequest: () => (isDown ? 'unavailable' : undefined) });
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(fileText(rowsOf(3)), { isSpooled: true });
    expect((await pushed.work())?.error).toBeInstanceOf(TransientError);
    expect(existsSync(pushed.file)).toBe(true);
    isDown = false;
    expect(await pushed.work()).toBeUndefined();
    expect(existsSync(pushed.file)).toBe(false);
  });

  test('whose rejects file was mended too early stops, and says so', async () => {
    let isDown = false;
    await using server = await startTestingServer({ onRequest: () => (isDown ? 'unavailable' : undefined) });
    await using push = await pushUnderTest(server.url);
    const pushed = await push.fileOf(fileText([wrong(1), wrong(2), wrong(3), wrong(4), ...rowsOf(3)]));
    isDown = true;
    expect((await pushed.work())?.error).toBeInstanceOf(TransientError);
    await writeFile(pushed.rejectsFile, 'mended');
    expect((await pushed.work())?.error).toMatchObject({ code: 'rejects-changed' });
  });

  test('at an address without the bulk endpoint fails without a single reject', async () => {
    await using server = await startTestingServer();
    await using push = await pushUnderTest(`${server.url}/elsewhere`);
    const pushed = await push.fileOf(fileText(rowsOf(3)));
    expect((await pushed.work())?.error).toBeInstanceOf(NotFoundError);
    expect(existsSync(pushed.rejectsFile)).toBe(false);
  });
});
