/** Wrapping prose for a terminal keeps its text, in lines that fit. */
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { folded, foldedHint } from '../../../../src/cli/text/table.ts';

const word = fc.oneof(fc.stringMatching(/^[a-z]{1,12}$/), fc.constantFrom('井戸', '油井', '🪫', '👩‍🔧', 'Génération'));
const words = fc.array(word, { minLength: 1, maxLength: 30 });

describe('folded text', () => {
  test('has the same words, in lines that fit unless one word alone does not', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 8, max: 60 }), (given, width) => {
        const lines = folded(`  - ${given.join(' ')}`, width, '    ').split('\n');
        expect(lines.join(' ').split(/\s+/).slice(2)).toEqual(given);
        for (const line of lines) {
          expect(stringWidth(line) <= width || line.trim().replace(/^- /, '').split(' ').length === 1).toBe(true);
        }
      }),
    );
  });

  test('a hint is cut behind its sentences, and never within a command', () => {
    const hint =
      'Follow it with: wellsync runs show 20261121-153009-0808a9 --wait. End it with: wellsync runs cancel X';
    expect(foldedHint(hint, 80)).toBe(hint.replace('--wait. ', '--wait.\n'));
    expect(foldedHint(hint, 200)).toBe(hint);
  });
});
