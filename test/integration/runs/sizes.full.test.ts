/** Lists, searches and chunk starts at the sizes of G8, within the memory limit of a worker's engine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addManyRuns, manyRunsId, manyRunsStartMs, unitsInChunk } from '../../../bench/support/many-runs.ts';
import { findRun } from '../../../src/app/runs/find-runs.ts';
import { openTemporaryDuckdb } from '../../support/warehouse-duckdb.ts';

/** Approximate size of a result that leaves the engine. */
const bytesOf = (result: unknown): number => JSON.stringify(result).length;

/** More than a summary, and a tenth of the report or the targets of a run. */
const summaryBytes = 1_000;

describe.each([
  { runs: 20, units: 100_000 },
  { runs: 10_000, units: 3 },
])('G8: a warehouse with $runs runs of $units wells', ({ runs: count, units }) => {
  let opened: Awaited<ReturnType<typeof openTemporaryDuckdb>>;
  const ledger = () => opened.warehouse.ledger.runs;
  const ended = manyRunsId(count - 2);
  const open = manyRunsId(count - 1);

  beforeAll(async () => {
    opened = await openTemporaryDuckdb();
    const making = opened.another();
    await making.check();
    await making.close();
    await opened.warehouse.close();
    await addManyRuns(opened.path, count, units);
    opened = { ...opened, warehouse: opened.another() };
  }, 120_000);
  afterAll(() => opened.dispose());

  it('lists the newest, by any filter and page by page, as summaries alone', async () => {
    const newest = await ledger().list({ limit: 20 });
    expect(newest.runs.map(({ runId }) => runId)).toContain(open);
    expect(bytesOf(newest.runs)).toBeLessThan(20 * summaryBytes);
    const filter = { states: ['done'], job: 'export daily-production', sinceMs: manyRunsStartMs + 2 } as const;
    const filtered = await ledger().list({ limit: 5, ...filter });
    expect(filtered.runs.map(({ state, settled }) => [state, settled?.units.done])).toEqual(
      Array.from({ length: 5 }, () => ['done', units]),
    );
    const { runs: next } = await ledger().list({ limit: 1, ...filter, cursor: filtered.cursor ?? '' });
    expect(next.map(({ runId }) => runId)).toEqual([manyRunsId(count - 12)]);
  });

  it('lists all of them at once', async () => {
    const { runs: all, cursor } = await ledger().list({ limit: count + 1 });
    expect(all).toHaveLength(count + 1);
    expect(cursor).toBeUndefined();
    expect(bytesOf(all)).toBeLessThan((count + 1) * summaryBytes);
  });

  it('shows the run that an id begins like', async () => {
    expect(await findRun(ledger(), `${ended.slice(0, -1)}${ended.at(-1)}`)).toMatchObject({ runId: ended });
    expect(await findRun(ledger(), 'wai')).toMatchObject({ runId: 'waiting', targetCount: units });
    const matches = await ledger().find('20240301', 5);
    expect(matches).toMatchObject({ count, newest: { length: 5 } });
    expect(bytesOf(matches)).toBeLessThan(5 * summaryBytes);
  });

  it('revives by ids and rounds', async () => {
    const unfinished = await ledger().unfinished();
    expect(unfinished).toHaveLength(count / 2 + 1);
    expect(bytesOf(unfinished)).toBeLessThan(unfinished.length * 100);
  });

  it('starts a chunk with what the chunk needs', async () => {
    const head = await ledger().readHead(open);
    expect(head).toMatchObject({ state: 'running', unitCount: units });
    expect(bytesOf(head)).toBeLessThan(summaryBytes);
    const lastChunk = Math.floor((units - 1) / unitsInChunk);
    const chunk = await ledger().openUnits(open, lastChunk);
    expect(chunk.map(({ unit }) => unit)).toEqual(
      Array.from({ length: Math.min(units, unitsInChunk) }, (_, place) => lastChunk * unitsInChunk + place),
    );
    const [{ unit } = { unit: -1 }] = chunk;
    expect(await ledger().settle(open, [{ unit, state: 'done', counts: { read: 1 } }])).toEqual([unit]);
  });

  it('gives the targets of a run that waits for its plan in slices', async () => {
    let seen = 0;
    for await (const slice of ledger().targets('waiting')) {
      expect(slice.length).toBeLessThanOrEqual(5_000);
      seen += slice.length;
    }
    expect(seen).toBe(units);
  });
});
