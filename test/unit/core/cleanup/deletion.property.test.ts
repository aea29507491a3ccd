/**
 * The decisions of a cleanup by their properties: order and chunks, the chain of the audit, the meaning of an answer.
 */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanup } from '../../../../jobs/cleanup/job.ts';
import {
  AbortedError,
  AccessError,
  NotFoundError,
  PermanentError,
  TransientError,
} from '../../../../src/core/base/errors.ts';
import { nearestName } from '../../../../src/core/base/text.ts';
import {
  type AuditEntry,
  chain,
  ChainCheck,
  type ChainedEntry,
  emptyHead,
} from '../../../../src/core/cleanup/audit-chain.ts';
import { conclusionOf, mayHaveTakenEffect } from '../../../../src/core/cleanup/outcome.ts';
import { chunkTargets, type DeletionTarget, orderTargets, targetKinds } from '../../../../src/core/cleanup/target.ts';
import { balanceOf } from '../../../../src/core/run/balance.ts';

const target: fc.Arbitrary<DeletionTarget> = fc
  .record({ kind: fc.constantFrom(...targetKinds), owner: fc.nat(6), source: fc.nat(6) })
  .map(({ kind, owner, source }) => ({
    kind,
    ownerId: `O${owner}`,
    sourceId: kind === 'time-series' ? `S${source}` : null,
  }));

const keyOf = (each: DeletionTarget): string => JSON.stringify([each.kind, each.ownerId, each.sourceId]);

describe('the targets of a plan', () => {
  test('stand each once: time series first, then well by well micro strings before wellbores', () => {
    fc.assert(
      fc.property(fc.array(target), (named) => {
        const ordered = orderTargets(named);
        expect(ordered.map(keyOf).toSorted()).toEqual([...new Set(named.map(keyOf))].toSorted());
        const firstOfWells = ordered.findIndex(({ kind }) => kind !== 'time-series');
        const ofWells = firstOfWells < 0 ? [] : ordered.slice(firstOfWells);
        expect(ofWells.every(({ kind }) => kind !== 'time-series')).toBe(true);
        for (const [index, each] of ofWells.entries()) {
          if (each.kind !== 'micro-strings') continue;
          const wellbores = ofWells.findIndex(({ kind, ownerId }) => kind === 'wellbores' && ownerId === each.ownerId);
          expect([-1, index + 1]).toContain(wellbores);
        }
      }),
    );
  });

  test('travel in dense chunks, the first one half as large, that never part a well', () => {
    fc.assert(
      fc.property(fc.array(target), fc.integer({ min: 1, max: 5 }), (named, maxTargets) => {
        const ordered = orderTargets(named);
        const chunks = chunkTargets(ordered, maxTargets);
        for (const [index, chunk] of chunks.entries()) {
          const before = chunks[index - 1] ?? 0;
          expect([before, before + 1]).toContain(chunk);
        }
        const sizes = countBy(chunks);
        for (const size of sizes.values()) expect(size).toBeLessThanOrEqual(maxTargets + 1);
        expect(sizes.get(0) ?? 0).toBeLessThanOrEqual(Math.ceil(maxTargets / 2) + 1);
        const chunksOfWell = new Map<string, Set<number>>();
        for (const [index, { kind, ownerId }] of ordered.entries()) {
          if (kind === 'time-series') continue;
          const seen = chunksOfWell.get(ownerId) ?? new Set();
          chunksOfWell.set(ownerId, seen.add(chunks[index] ?? -1));
        }
        for (const seen of chunksOfWell.values()) expect(seen.size).toBe(1);
      }),
    );
  });
});

function countBy(values: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const entry: fc.Arbitrary<AuditEntry> = fc.record({
  atMs: fc.nat(),
  event: fc.constantFrom('intent', 'outcome', 'withdrawn'),
  runId: fc.string(),
  planId: fc.string(),
  unit: fc.nat(),
  requestedBy: fc.string(),
  retriedBy: fc.option(fc.string()),
  serviceUrl: fc.string(),
  kind: fc.constantFrom(...targetKinds),
  ownerId: fc.string(),
  sourceId: fc.option(fc.string()),
  outcome: fc.option(fc.constantFrom('deleted', 'already gone', 'refused', 'failed')),
  answer: fc.option(fc.integer()),
  words: fc.option(fc.string({ unit: 'binary' })),
  verification: fc.option(fc.constantFrom('gone', 'still there', 'not checked', 'no read')),
});

function brokenRow(rows: readonly ChainedEntry[], head: { readonly rows: number; readonly hash: string }) {
  const check = new ChainCheck(hashOf);
  for (const row of rows) {
    const broken = check.take(row);
    if (broken !== undefined) return broken.seq;
  }
  return check.end(head)?.seq;
}

describe('the chain of the audit', () => {
  const chained = fc.array(entry, { minLength: 1, maxLength: 8 }).map((entries) => chain(emptyHead, entries, hashOf));
  const headOf = (rows: readonly ChainedEntry[]) => ({ rows: rows.length, hash: rows.at(-1)?.hash ?? emptyHead.hash });

  test('holds whatever was written, in one go or in several', () => {
    fc.assert(
      fc.property(fc.array(entry), fc.nat(8), (entries, cut) => {
        const first = chain(emptyHead, entries.slice(0, cut), hashOf);
        const second = chain(headOf(first), entries.slice(cut), hashOf);
        expect([...first, ...second]).toEqual(chain(emptyHead, entries, hashOf));
        expect(brokenRow([...first, ...second], headOf([...first, ...second]))).toBeUndefined();
      }),
    );
  });

  test('names the first row that was changed in any field, left out, doubled or moved', () => {
    fc.assert(
      fc.property(
        chained,
        fc.nat(),
        fc.constantFrom(...(Object.keys(changes) as (keyof typeof changes)[])),
        (rows, at, kind) => {
          const index = at % rows.length;
          const broken = brokenRow(changes[kind](rows, index), headOf(rows));
          expect(broken).toBe(index + 1);
        },
      ),
    );
  });

  /** As they were written before a retry was named: the text of the first digest version. */
  function olderChain(entries: readonly AuditEntry[]): readonly ChainedEntry[] {
    let previousHash = emptyHead.hash;
    return entries.map((each, index) => {
      const words = each.words?.toWellFormed() ?? null;
      const row = { ...each, words, retriedBy: null, seq: index + 1, digestVersion: null, previousHash };
      const { atMs, event, runId, planId, unit, requestedBy, serviceUrl } = row;
      const { kind, ownerId, sourceId, outcome, answer, verification } = row;
      const place = [previousHash, row.seq, atMs, event, runId, planId, unit, requestedBy, serviceUrl];
      previousHash = hashOf(JSON.stringify([...place, kind, ownerId, sourceId, outcome, answer, words, verification]));
      return { ...row, hash: previousHash };
    });
  }

  test('G6: goes on from rows of the first digest version, to which nobody adds who retried', () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 5 }), fc.array(entry), fc.nat(), (old, added, at) => {
        const before = olderChain(old);
        const rows = [...before, ...chain(headOf(before), added, hashOf)];
        expect(brokenRow(rows, headOf(rows))).toBeUndefined();
        const index = at % before.length;
        expect(brokenRow(changed(rows, index, { retriedBy: 'anna' }), headOf(rows))).toBe(index + 1);
        expect(brokenRow(changed(rows, index, { digestVersion: 2 }), headOf(rows))).toBe(index + 1);
      }),
    );
  });

  test('counts the rows of retries by who retried', () => {
    const names = fc.constantFrom(null, 'anna', 'per');
    fc.assert(
      fc.property(fc.array(fc.tuple(entry, names)), (given) => {
        const rows = chain(
          emptyHead,
          given.map(([each, retriedBy]) => ({ ...each, retriedBy })),
          hashOf,
        );
        const check = new ChainCheck(hashOf);
        for (const row of rows) expect(check.take(row)).toBeUndefined();
        for (const by of ['anna', 'per']) {
          expect(check.retries.get(by) ?? 0).toBe(given.filter(([, retriedBy]) => retriedBy === by).length);
        }
      }),
    );
  });

  const changed = (
    rows: readonly ChainedEntry[],
    index: number,
    change: Partial<ChainedEntry>,
  ): readonly ChainedEntry[] => rows.map((row, place) => (place === index ? { ...row, ...change } : row));
  const changes = {
    owner: (rows: readonly ChainedEntry[], index: number) =>
      changed(rows, index, { ownerId: `${rows[index]?.ownerId}x` }),
    outcome: (rows: readonly ChainedEntry[], index: number) =>
      changed(rows, index, { outcome: rows[index]?.outcome === 'deleted' ? 'refused' : 'deleted' }),
    time: (rows: readonly ChainedEntry[], index: number) => changed(rows, index, { atMs: -1 }),
    who: (rows: readonly ChainedEntry[], index: number) =>
      changed(rows, index, { requestedBy: `${rows[index]?.requestedBy}x` }),
    answer: (rows: readonly ChainedEntry[], index: number) =>
      changed(rows, index, { answer: (rows[index]?.answer ?? 0) + 1 }),
    retrier: (rows: readonly ChainedEntry[], index: number) =>
      changed(rows, index, { retriedBy: `${rows[index]?.retriedBy ?? ''}x` }),
    noRetrier: (rows: readonly ChainedEntry[], index: number) =>
      changed(rows, index, rows[index]?.retriedBy === null ? { answer: -7.5 } : { retriedBy: null }),
    olderDigest: (rows: readonly ChainedEntry[], index: number) => changed(rows, index, { digestVersion: null }),
    laterDigest: (rows: readonly ChainedEntry[], index: number) => changed(rows, index, { digestVersion: 3 }),
    leftOut: (rows: readonly ChainedEntry[], index: number) => rows.toSpliced(index, 1),
  };
});

describe('what the request of a deletion came to', () => {
  test.each([
    [{ answer: 3 }, false, { outcome: 'deleted', answer: 3 }],
    [{ answer: 0 }, true, { outcome: 'already gone', answer: 0 }],
    [{ answer: null }, false, { outcome: 'deleted', answer: null }],
    [{ error: new NotFoundError('not-found', 'gone', { status: 404 }) }, false, { outcome: 'already gone' }],
    [{ error: new AccessError('forbidden', 'no') }, false, { outcome: 'refused', words: 'no' }],
    [{ error: new PermanentError('http-409', 'busy', { status: 409 }) }, true, { outcome: 'refused', words: 'busy' }],
    [{ error: new AccessError('unauthorized', 'who?') }, false, undefined],
    [{ error: new PermanentError('body-too-large', 'much') }, false, undefined],
    [{ error: new TransientError('timeout', 'slow') }, false, undefined],
    [{ error: new AbortedError() }, false, undefined],
    [{ error: new TypeError('x') }, false, undefined],
  ])('%o, repeated %s', (result, isRepeat, conclusion) => {
    const found = conclusionOf(result, isRepeat);
    if (conclusion === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(conclusion);
  });

  test.each([
    [new TransientError('http-429', ''), false],
    [new TransientError('http-503', ''), false],
    [new TransientError('no-connection', ''), false],
    [new AccessError('unauthorized', ''), false],
    [new TransientError('http-500', ''), true],
    [new TransientError('http-504', ''), true],
    [new TransientError('connection-lost', ''), true],
    [new TransientError('timeout', ''), true],
    [new TransientError('not-json', ''), true],
    [new AbortedError(), true],
  ])('%o may have taken effect: %s', (error, may) => {
    expect(mayHaveTakenEffect(error)).toBe(may);
  });

  test('G2: the targets of a cleanup are deleted + already gone + refused + failed + cancelled', () => {
    const counts = { deleted: 3, alreadyGone: 2, refused: 1 };
    const units = { done: 3, held: 3, failed: 1 };
    expect(balanceOf(cleanup, counts, { ...units, total: 7, cancelled: 0 })).toEqual({
      balanced: true,
      statement: '7 targets = 3 deleted + 2 already gone + 1 refused + 1 failed',
    });
    expect(balanceOf(cleanup, counts, { ...units, total: 8, cancelled: 1 }).balanced).toBe(true);
    expect(balanceOf(cleanup, counts, { ...units, total: 8, cancelled: 0 }).balanced).toBe(false);
  });
});

test.each([
  ['3f9a-1c27-b04f', ['3f9a-1c27-b04e', 'aaaa-bbbb-cccc'], '3f9a-1c27-b04e'],
  ['odl', ['old', 'retired'], 'old'],
  ['something', ['old', 'retired'], undefined],
  ['x', [], undefined],
])('the nearest name to %s of %j is %s', (given, known, nearest) => {
  expect(nearestName(given, known)).toBe(nearest);
});
