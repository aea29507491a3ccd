/** Bearer tokens of the service. Each is a secret that a search recognises: `storm-token-<number>-<random>`. */
import { drawnUuid, type Random } from './random.ts';

export class Tokens {
  readonly #random: Random;
  readonly #now: () => number;
  readonly #issued: { readonly text: string; expiresMs: number }[] = [];

  constructor(random: Random, now: () => number) {
    this.#random = random;
    this.#now = now;
  }

  /** Issues a token; the older ones expire after `graceMs`, if they have not yet. */
  issue(graceMs: number): string {
    const expiresMs = this.#now() + graceMs;
    for (const token of this.#issued) token.expiresMs = Math.min(token.expiresMs, expiresMs);
    const text = `storm-token-${this.#issued.length}-${drawnUuid(this.#random)}`;
    this.#issued.push({ text, expiresMs: Infinity });
    return text;
  }

  /** In the order of their issue, expired ones too. */
  all(): readonly string[] {
    return this.#issued.map(({ text }) => text);
  }

  /** The number of the token of an Authorization header, and whether it is good now; -1 for none or an unknown one. */
  read(header: string | undefined): { readonly number: number; readonly isGood: boolean } {
    const number = this.#issued.findIndex(({ text }) => header === `Bearer ${text}`);
    return { number, isGood: (this.#issued[number]?.expiresMs ?? -Infinity) > this.#now() };
  }
}
