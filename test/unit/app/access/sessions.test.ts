import { describe, expect, test } from 'vitest';
import { sessionMs, Sessions } from '../../../../src/app/access/sessions.ts';

const several = (count: number, open: (index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => open(index));

describe('sessions', () => {
  test('are named by ids that nobody can guess, and are not kept', () => {
    const sessions = new Sessions(() => 0);
    const ids = several(50, () => sessions.open('token'));
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) {
      expect(id).toMatch(/^[\w-]{43}$/);
      expect(sessions.find(id)).toMatchObject({ tokenSha256: 'token' });
      expect(JSON.stringify(sessions.find(id))).not.toContain(id);
    }
    expect(sessions.find('')).toBeUndefined();
    expect(sessions.find(sessions.find(ids[0] ?? '')?.hash ?? '')).toBeUndefined();
  });

  test('end after 14 hours, by being closed, and with their token; others go on', () => {
    let now = 0;
    const sessions = new Sessions(() => now);
    const [first, second, third] = [sessions.open('a'), sessions.open('a'), sessions.open('b')];
    sessions.close(first);
    expect([first, second, third].map((id) => sessions.find(id)?.tokenSha256)).toEqual([undefined, 'a', 'b']);
    sessions.closeWhere(({ tokenSha256 }) => tokenSha256 === 'a');
    expect([second, third].map((id) => sessions.find(id)?.tokenSha256)).toEqual([undefined, 'b']);
    now = sessionMs - 1;
    const later = sessions.open('b');
    expect(sessions.find(third)).toBeDefined();
    now = sessionMs;
    expect(sessions.find(third)).toBeUndefined();
    expect(sessions.find(later)).toBeDefined();
  });

  test('are bounded: of a token and in all the oldest goes, and no other', () => {
    const sessions = new Sessions(() => 0);
    const other = sessions.open('other');
    const ids = several(101, () => sessions.open('busy'));
    expect(ids.map((id) => sessions.find(id) !== undefined)).toEqual([false, ...Array<boolean>(100).fill(true)]);
    expect(sessions.find(other)).toBeDefined();
    const many = several(1_900, (index) => sessions.open(`token ${index}`));
    expect(sessions.find(other)).toBeUndefined();
    expect(sessions.find(ids[1] ?? '')).toBeDefined();
    expect(many.every((id) => sessions.find(id) !== undefined)).toBe(true);
  });
});
