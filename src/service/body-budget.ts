/**
 * The memory of all bodies that a process receives at a time (G8). A body asks for room before it takes more bytes:
 *
 *   the oldest   gets room up to the length of one body at once: it is kept free for it, so that one always proceeds
 *   the others   share `sharedBodyBytes` beside it, and wait for room in their order
 *
 * The bytes lie in blocks that are used again, since freed buffers stay in memory until V8 collects them.
 */
import { sharedBodyBytes } from '../core/base/memory-budget.ts';

/** Holds most pages whole: 1,000 records of 34 fields have 855 kB. Only what is written of a block takes memory. */
const blockBytes = 1024 * 1024;

export interface BodyShare {
  /**
   * Undefined where there is room for `bytes` more; else resolves when there is. Rejects with the reason of the signal.
   */
  grow(bytes: number, signal: AbortSignal): Promise<void> | undefined;
  /** An empty block of `blockBytes`, to be filled within what `grow` granted. */
  block(): Buffer;
  /** Gives room and blocks back; no block may be read any more. */
  close(): void;
}

interface Body {
  bytes: number;
  /** Set while the body waits for room. */
  waiting?: { readonly bytes: number; readonly letIn: () => void } | undefined;
}

export class BodyBudget {
  readonly blockBytes: number;
  readonly #sharedBytes: number;
  readonly #mostSpareBlocks: number;
  /** The oldest first. */
  readonly #bodies = new Set<Body>();
  readonly #spareBlocks: Buffer[] = [];

  /** `maxBodyBytes`: of one body, which its reader bounds. */
  constructor(maxBodyBytes: number) {
    this.#sharedBytes = sharedBodyBytes(maxBodyBytes);
    this.blockBytes = Math.min(blockBytes, maxBodyBytes);
    this.#mostSpareBlocks = Math.ceil((maxBodyBytes + this.#sharedBytes) / this.blockBytes);
  }

  open(): BodyShare {
    const body: Body = { bytes: 0 };
    const blocks: Buffer[] = [];
    this.#bodies.add(body);
    return {
      grow: (bytes, signal) => {
        if (!this.#hasRoom(body, bytes)) return this.#wait(body, bytes, signal);
        body.bytes += bytes;
        return undefined;
      },
      block: () => {
        const block = this.#spareBlocks.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
        blocks.push(block);
        return block;
      },
      close: () => {
        this.#bodies.delete(body);
        for (const block of blocks.splice(0)) {
          if (this.#spareBlocks.length < this.#mostSpareBlocks) this.#spareBlocks.push(block);
        }
        this.#letIn();
      },
    };
  }

  #hasRoom(body: Body, bytes: number): boolean {
    const [oldest, ...others] = this.#bodies;
    if (body === oldest) return true;
    return others.reduce((sum, other) => sum + other.bytes, bytes) <= this.#sharedBytes;
  }

  #wait(body: Body, bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        body.waiting = undefined;
        reject(signal.reason as Error);
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      body.waiting = {
        bytes,
        letIn: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
    });
  }

  /** Lets the bodies in that wait, the oldest first, as far as there is room. */
  #letIn(): void {
    for (const body of this.#bodies) {
      const { waiting } = body;
      if (waiting === undefined) continue;
      if (!this.#hasRoom(body, waiting.bytes)) return;
      body.waiting = undefined;
      body.bytes += waiting.bytes;
      waiting.letIn();
    }
  }
}
