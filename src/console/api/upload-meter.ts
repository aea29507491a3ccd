/** Bounds an upload: its length, and how slowly it may come. */
import { Transform, type TransformCallback } from 'node:stream';
import { bytesText } from '../../core/base/text.ts';
import { after, type Timer } from '../../timers/sleep.ts';
import { RequestProblem } from '../problem.ts';

/**
 * What a client must send within each half minute, some 130 kbit a second: one that sends by drops would hold a file, and
 * a place among the uploads, for days.
 */
const leastBytes = 500_000;
const spanMs = 30_000;

/** Passes bytes on; fails with RequestProblem when there are more than `maxBytes`, or they come too slowly. */
export class UploadMeter extends Transform {
  readonly #maxBytes: number;
  #bytes = 0;
  #ofThisSpan = 0;
  #timer: Timer;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
    this.#timer = this.#look();
  }

  #look(): Timer {
    return after(spanMs, () => {
      // Where bytes lie here, the disk is slow, and not the client.
      const isClientSlow = this.#ofThisSpan < leastBytes && this.readableLength === 0;
      if (isClientSlow && !this.readableEnded) {
        this.destroy(tooSlow());
        return;
      }
      this.#ofThisSpan = 0;
      this.#timer = this.#look();
    });
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    this.#ofThisSpan += chunk.length;
    if (this.#bytes > this.#maxBytes) done(tooLong(this.#maxBytes));
    else done(null, chunk);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#timer.cancel();
    done(error);
  }
}

function tooSlow(): RequestProblem {
  const message = `the upload sent less than ${bytesText(leastBytes)} within ${spanMs / 1_000} s: nothing was started`;
  return new RequestProblem(408, 'upload-too-slow', message, {
    hint: 'Send it again: packed by gzip, in parts, or by a better connection.',
  });
}

export function tooLong(maxBytes: number): RequestProblem {
  return new RequestProblem(413, 'upload-too-long', `the upload has more than ${maxBytes} bytes: nothing was started`, {
    hint: 'Push it in parts, packed by gzip, or raise http.maxUploadMb.',
  });
}
