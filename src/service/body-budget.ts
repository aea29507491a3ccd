/**
 * The memory of all bodies that a process receives at a time (G8). A body asks for room before it takes more bytes:
 *
 *   the oldest   has room up to the length of one body: it is kept free for it
 *   the others   share `sharedBodyBytes` beside it
 *
 * The shared room goes to those who ask first. A body without room is given up: it lets go of what it has, keeps its turn
 * among the others, and is asked for again when it is the oldest: turns come in the order in which bodies began. Younger
 * bodies that take shared room meanwhile do not delay it, since the oldest needs none of it. It does not wait half read,
 * since undici 7 asserts that no connection ends while its body rests, which would end the process. The bytes lie in
 * blocks that are used again, since freed buffers stay in memory until V8 collects them.
 */
import { AbortedError } from '../core/base/errors.ts';
import { sharedBodyBytes } from '../core/base/memory-budget.ts';

/** Holds most pages whole: 1,000 records of 34 fields have 855 kB. Only what is written of a block takes memory. */
const blockBytes = 1024 * 1024;

/** A body was given up for lack of room. */
export class NoRoomError extends Error {
  override name = 'NoRoomError' as const;
}

export interface BodyRoom {
  /** Takes room for `bytes` more; false where there is none. Always true for the oldest. */
  grow(bytes: number): boolean;
  /** An empty block of `blockBytes`, to be filled within what `grow` took. */
  block(): Buffer;
  /** Gives room and blocks back, and keeps the turn; resolves when it is the oldest. Rejects with AbortedError. */
  turn(signal: AbortSignal): Promise<void>;
  /** Gives all back; no block may be read any more. */
  close(): void;
}

interface Body {
  bytes: number;
  readonly blocks: Buffer[];
  /** Set while the body waits for its turn. */
  begin?: (() => void) | undefined;
}

export class BodyBudget {
  readonly blockBytes: number;
  readonly #sharedBytes: number;
  readonly #mostSpareBlocks: number;
  /** Those that have taken room, the oldest first. */
  readonly #bodies = new Set<Body>();
  readonly #spareBlocks: Buffer[] = [];

  /** `maxBodyBytes`: of one body, which its reader bounds. */
  constructor(maxBodyBytes: number) {
    this.#sharedBytes = sharedBodyBytes(maxBodyBytes);
    this.blockBytes = Math.min(blockBytes, maxBodyBytes);
    this.#mostSpareBlocks = Math.ceil((maxBodyBytes + this.#sharedBytes) / this.blockBytes);
  }

  open(): BodyRoom {
    const body: Body = { bytes: 0, blocks: [] };
    return {
      grow: (bytes) => {
        this.#bodies.add(body);
        const hasRoom = this.#hasRoom(body, bytes);
        if (hasRoom) body.bytes += bytes;
        return hasRoom;
      },
      block: () => {
        const block = this.#spareBlocks.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
        body.blocks.push(block);
        return block;
      },
      turn: (signal) => {
        this.#empty(body);
        return this.#turnOf(body, signal);
      },
      close: () => {
        this.#empty(body);
        this.#bodies.delete(body);
        const [oldest] = this.#bodies;
        oldest?.begin?.();
      },
    };
  }

  #hasRoom(body: Body, bytes: number): boolean {
    const [oldest, ...others] = this.#bodies;
    if (body === oldest) return true;
    return others.reduce((sum, other) => sum + other.bytes, bytes) <= this.#sharedBytes;
  }

  #empty(body: Body): void {
    body.bytes = 0;
    for (const block of body.blocks.splice(0)) {
      if (this.#spareBlocks.length < this.#mostSpareBlocks) this.#spareBlocks.push(block);
    }
  }

  #turnOf(body: Body, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const [oldest] = this.#bodies;
      if (body === oldest) return resolve();
      const abort = (): void => {
        body.begin = undefined;
        reject(new AbortedError());
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      body.begin = () => {
        body.begin = undefined;
        signal.removeEventListener('abort', abort);
        resolve();
      };
    });
  }
}
