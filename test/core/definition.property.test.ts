import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { balanceDefinitions } from '../../src/core/balance.ts';
import {
  compareDefinitions,
  settleDefinitions,
  type Definition,
  type DefinitionChange,
} from '../../src/core/definition.ts';

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

describe('what an answer makes of what is stored', () => {
  it('G1, G2: is the answer, its last records winning, with every record accounted for; the same again changes nothing', () => {
    fc.assert(
      fc.property(stored, answer, (before, read) => {
        const comparison = compareDefinitions(before, read);
        const { outcome, changes } = settleDefinitions({ ...target, read: read.length }, before.length, comparison, {
          ...guard,
          allow: true,
        });
        const last = new Map(read.map((each) => [each.key, each]));
        const after = applied(before, changes);
        expect(after).toEqual([...last.values()].toSorted((left, right) => left.key.localeCompare(right.key)));
        expect(balanceDefinitions(outcome.counts).balanced).toBe(true);
        expect(compareDefinitions(after, read).changes).toEqual([]);
      }),
    );
  });

  it('G4: is never fewer records where the guard holds, and nothing is held that the guard lets go', () => {
    fc.assert(
      fc.property(stored, answer, (before, read) => {
        const comparison = compareDefinitions(before, read);
        const { outcome, changes } = settleDefinitions(
          { ...target, read: read.length },
          before.length,
          comparison,
          guard,
        );
        const leaving = comparison.changes.filter(({ kind }) => kind === 'removed').length;
        const isHeld = (read.length === 0 && leaving > 0) || (leaving > 3 && leaving > before.length * 0.2);
        expect(outcome.state).toBe(isHeld ? 'held' : 'done');
        if (isHeld) expect(applied(before, changes).length).toBeGreaterThanOrEqual(before.length);
        expect(outcome.counts).toMatchObject({ removed: isHeld ? 0 : leaving, heldRows: isHeld ? leaving : 0 });
        expect(balanceDefinitions(outcome.counts).balanced).toBe(true);
      }),
    );
  });

  it('takes a new key with a known alias for the same record', () => {
    const [old, next] = [
      { key: 'a', alias: 'one', content: 'x' },
      { key: 'b', alias: 'one', content: 'x' },
    ];
    expect(compareDefinitions([old], [next]).changes).toEqual([{ kind: 'replaced', old, next }]);
  });
});
