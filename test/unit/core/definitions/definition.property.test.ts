import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wells } from '../../../../jobs/definitions.ts';
import {
  compareDefinitions,
  type Definition,
  type DefinitionChange,
  settleDefinitions,
} from '../../../../src/core/definitions/definition.ts';
import { balanceOfCounts } from '../../../../src/core/run/balance.ts';

const guard = { maxShare: 0.2, maxRows: 3, allow: false };
const record = fc
  .record({
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    alias: fc.constantFrom('one', 'two', 'three'),
    value: fc.constantFrom('x', 'y'),
  })
  .map(({ key, alias, value }): Definition => ({ key, alias, content: `${alias} ${value}` }));
const answer = fc.array(record, { maxLength: 8 });
const stored = fc.uniqueArray(record, { selector: ({ key }) => key, maxLength: 6 });

function applied(
  before: readonly Definition[],
  changes: readonly DefinitionChange<Definition>[],
): readonly Definition[] {
  const after = new Map(before.map((each) => [each.key, each]));
  for (const change of changes) if (change.kind !== 'inserted') after.delete(change.old.key);
  for (const change of changes) if (change.kind !== 'removed') after.set(change.next.key, change.next);
  return [...after.values()].toSorted((left, right) => left.key.localeCompare(right.key));
}

const target = { unit: 0, target: 'EQ' };

describe('the merge of an answer into the stored definitions', () => {
  it('G1, G2: the result is the answer, the last of repeated records winning; every record is counted, and the same answer again changes nothing', () => {
    fc.assert(
      fc.property(stored, answer, (before, read) => {
        const comparison = compareDefinitions(before, read);
        const { outcome, changes } = settleDefinitions({ ...target, read: read.length }, before.length, comparison, {
          guard: { ...guard, allow: true },
          runId: 'R',
        });
        const last = new Map(read.map((each) => [each.key, each]));
        const after = applied(before, changes);
        expect(after).toEqual([...last.values()].toSorted((left, right) => left.key.localeCompare(right.key)));
        expect(balanceOfCounts(wells, outcome.counts).balanced).toBe(true);
        expect(compareDefinitions(after, read).changes).toEqual([]);
      }),
    );
  });

  it('G4: a held target loses no record, and only a loss beyond the guard is held', () => {
    fc.assert(
      fc.property(stored, answer, (before, read) => {
        const comparison = compareDefinitions(before, read);
        const { outcome, changes } = settleDefinitions({ ...target, read: read.length }, before.length, comparison, {
          guard,
          runId: 'R',
        });
        const leaving = comparison.changes.filter(({ kind }) => kind === 'removed').length;
        const isHeld = (read.length === 0 && leaving > 0) || (leaving > 3 && leaving > before.length * 0.2);
        expect(outcome.state).toBe(isHeld ? 'held' : 'done');
        if (isHeld) expect(applied(before, changes).length).toBeGreaterThanOrEqual(before.length);
        expect(outcome.counts).toMatchObject({ removed: isHeld ? 0 : leaving, heldRows: isHeld ? leaving : 0 });
        expect(balanceOfCounts(wells, outcome.counts).balanced).toBe(true);
      }),
    );
  });

  it('a new key with the alias of a removed record replaces that record', () => {
    const [old, next] = [
      { key: 'a', alias: 'one', content: 'x' },
      { key: 'b', alias: 'one', content: 'x' },
    ];
    expect(compareDefinitions([old], [next]).changes).toEqual([{ kind: 'replaced', old, next }]);
  });
});
