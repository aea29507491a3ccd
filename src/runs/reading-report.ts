/** Reports what was read of the units of a chunk, for displays: the work neither waits for it nor fails by it. */
import type { UnitReading } from '../queue/port.ts';
import { sleep } from '../timers/sleep.ts';

/** Displays look twice a second. */
const writeEveryMs = 250;

export class ReadingReport {
  readonly #write: (readings: readonly UnitReading[]) => Promise<void>;
  /** The newest reading of each unit that was not written yet. */
  #waiting = new Map<number, UnitReading>();
  #isWriting = false;

  constructor(write: (readings: readonly UnitReading[]) => Promise<void>) {
    this.#write = write;
  }

  /** Writes at once, or with all others that come until a while after an earlier write. */
  note(reading: UnitReading): void {
    this.#waiting.set(reading.unit, reading);
    if (!this.#isWriting) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#waiting.size > 0) {
        const readings = [...this.#waiting.values()];
        this.#waiting = new Map();
        await this.#write(readings);
        await sleep(writeEveryMs, { ref: false });
      }
    } catch {
      // A display that stands still for a while is no fault of the work, which reports an outage of Redis itself.
    } finally {
      this.#isWriting = false;
    }
  }
}
