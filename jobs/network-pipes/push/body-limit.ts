/** The limit of a request body: the configured size, or less if the service was found to accept less (413). */
import { maxBytesAfterTooLarge } from '../../../src/core/pipes/bisection.ts';

export class BodyLimit {
  #maxBytes: number;
  #isNoted = true;

  /** `knownBytes`: the limit that was found earlier. */
  constructor(configuredBytes: number, knownBytes: number | undefined) {
    this.#maxBytes = Math.min(configuredBytes, knownBytes ?? configuredBytes);
  }

  /** Limit of a body in UTF-8 bytes, for every chunk from now on. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** Reports that a body of several items was too large. */
  refused(bytes: number): void {
    const lower = maxBytesAfterTooLarge(this.#maxBytes, bytes);
    if (lower < this.#maxBytes) this.#isNoted = false;
    this.#maxBytes = lower;
  }

  /** A newly found limit to be stored; each is returned once. */
  takeFound(): number | undefined {
    if (this.#isNoted) return undefined;
    this.#isNoted = true;
    return this.#maxBytes;
  }
}
