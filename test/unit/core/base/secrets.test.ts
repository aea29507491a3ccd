import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../../src/core/base/secrets.ts';

const secret = 'tok/EN-0123456789+abc';
const secrets = new Secrets([secret, undefined, '', '  \n']);

describe('the secrets of a process', () => {
  it.each([
    ['as it is', `a ${secret} b`],
    ['as JSON spells it', `a ${secret.replace('/', '\\/')} b`],
    ['as an address spells it', `a ${encodeURIComponent(secret)} b`],
    ['in Base64', `a ${Buffer.from(secret).toString('base64')} b`],
    ['in the Base64 of addresses', `a ${Buffer.from(secret).toString('base64url')} b`],
  ])('G10: a secret is hidden in a text: %s', (_name, text) => {
    expect(secrets.hideIn(text).replace(/=+/, '')).toBe('a [hidden] b');
    expect(secrets.hideInForeign(text).replace(/=+/, '')).toBe('a [hidden] b');
  });

  it.each([8, 9, 12, 20])(
    'G10: its first %i characters are hidden in the text of a server, also in Base64',
    (length) => {
      const start = secret.slice(0, length);
      expect(secrets.hideInForeign(`a ${start}… and ${start}`)).toBe('a [hidden]… and [hidden]');
      const packed = Buffer.from(start).toString('base64');
      expect(secrets.hideInForeign(packed)).toMatch(/^\[hidden\].{0,3}$/);
    },
  );

  it('a text of our own keeps a word that a secret begins with', () => {
    expect(new Secrets(['wellsync-4711']).hideIn('wellsync-data holds it')).toBe('wellsync-data holds it');
    expect(secrets.hideInForeign(secret.slice(0, 7))).toBe(secret.slice(0, 7));
  });

  it('of two secrets, one in the other, nothing is left', () => {
    const both = new Secrets(['abcdefgh', 'abcdefgh-and-more']);
    expect(both.hideIn('(abcdefgh-and-more)(abcdefgh)')).toBe('([hidden])([hidden])');
    expect(both.hideInForeign('(abcdefgh-and-more)(abcdefgh)')).toBe('([hidden])([hidden])');
  });

  it('white space around a secret does not belong to it', () => {
    expect(new Secrets(['from-a-file\n']).hideIn('from-a-file.')).toBe('[hidden].');
  });

  it('the last 32 tokens are known, and lasting secrets stay', () => {
    const some = new Secrets(['lasting-secret']);
    for (let index = 10; index < 43; index += 1) some.addToken(`token-${index}`);
    expect(some.hideIn('lasting-secret token-10 token-11 token-42')).toBe('[hidden] token-10 [hidden] [hidden]');
  });
});
