/** Tokens of the HTTP API: made once, and known afterwards by their hash alone. */
import { createHash, randomBytes } from 'node:crypto';

/** Tells scanners of secrets what it is. */
const prefix = 'wst_';

/** A new token: 256 bits, in letters that need no quoting. */
export function newToken(): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

/** SHA-256, hexadecimal. A token is random and long, so that a plain hash of it cannot be searched. */
export function hashOfToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
