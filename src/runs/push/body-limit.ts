/** Owns how large a request body may be: the configured size, or less where the service was found to take less (413). */
import { maxBytesAfterTooLarge } from '../../core/pipe-halving.ts';

export class BodyLimit {
  #maxBytes: number;
  #isNoted = true;

  /** `knownBytes`: what the service was found to take before. */
  constructor(configuredBytes: number, knownBytes: number | undefined) {
    this.#maxBytes = Math.min(configuredBytes, knownBytes ?? configuredBytes);
  }

  /** UTF-8 bytes of a body, at most. Holds for every slice from now on. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** A body of several items was too large. */
  refused(bytes: number): void {
    const lower = maxBytesAfterTooLarge(this.#maxBytes, bytes);
    if (lower < this.#maxBytes) this.#isNoted = false;
    this.#maxBytes = lower;
  }

  /** The size to be remembered, once for each size that was found. */
  takeFound(): number | undefined {
    if (this.#isNoted) return undefined;
    this.#isNoted = true;
    return this.#maxBytes;
  }
}
