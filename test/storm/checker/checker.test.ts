import { describe, expect, it } from 'vitest';
import { judge } from './check.ts';
import { soundEvidence } from './sound/sound-evidence.ts';

describe('the checker of storms', () => {
  it('accuses a storm in which all is right of nothing', () => {
    expect(judge(soundEvidence()).violations).toEqual([]);
  });
});
