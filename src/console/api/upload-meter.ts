/** Bounds an upload: its length, and how slowly it may come. */
import { Transform, type TransformCallback } from 'node:stream';
import { after, type Timer } from '../../timers/sleep.ts';
import { RequestProblem } from '../problem.ts';

/** What a client must send within each minute: a slower one would hold a file and a connection for days. */
const leastBytesAMinute = 60_000;
const minuteMs = 60_000;

/** Passes bytes on; fails with RequestProblem when there are more than `maxBytes`, or they come too slowly. */
export class UploadMeter extends Transform {
  readonly #maxBytes: number;
  #bytes = 0;
  #ofThisMinute = 0;
  #timer: Timer;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
    this.#timer = this.#look();
  }

  #look(): Timer {
    return after(minuteMs, () => {
      if (this.#ofThisMinute < leastBytesAMinute && !this.readableEnded) {
        this.destroy(new RequestProblem(408, 'upload-too-slow', 'the upload came too slowly: nothing was started'));
        return;
      }
      this.#ofThisMinute = 0;
      this.#timer = this.#look();
    });
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    this.#ofThisMinute += chunk.length;
    if (this.#bytes > this.#maxBytes) done(tooLong(this.#maxBytes));
    else done(null, chunk);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#timer.cancel();
    done(error);
  }
}

export function tooLong(maxBytes: number): RequestProblem {
  return new RequestProblem(413, 'upload-too-long', `the upload has more than ${maxBytes} bytes: nothing was started`, {
    hint: 'Push it in parts, packed by gzip, or raise http.maxUploadMb.',
  });
}
