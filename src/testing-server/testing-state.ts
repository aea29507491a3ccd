/** The state of the testing server, which can be inspected and changed while it runs. */
import {
  Received,
  RequestError,
  type ReceivedDeletion,
  type ReceivedPipe,
  type RequestCounts,
  RequestLog,
} from './api/received.ts';
import { type AssetSource, AssetStore } from './data/assets.ts';
import {
  type ChangeCounts,
  changeFromText,
  type DailyChange,
  type DailySource,
  DailyStore,
} from './data/daily-source.ts';
import { createRandom, type Random } from './data/rows.ts';
import { changedOptions, shownOptions, type TestingServerOptions } from './options.ts';

export class TestingState {
  readonly daily: DailyStore;
  readonly assets: AssetStore;
  readonly received = new Received();
  readonly log: RequestLog;
  readonly #initialOptions: TestingServerOptions;
  #options: TestingServerOptions;
  #faultRandom: Random;

  constructor(options: TestingServerOptions, daily: DailySource, assets: AssetSource, nowMs: () => number) {
    this.daily = new DailyStore(daily);
    this.assets = new AssetStore(assets);
    this.log = new RequestLog(nowMs);
    this.#initialOptions = options;
    this.#options = options;
    this.#faultRandom = createRandom(`faults ${options.seed}`);
  }

  get options(): TestingServerOptions {
    return this.#options;
  }

  /** The sequence from which faults are drawn; restarts with every change of the options. */
  get faultRandom(): Random {
    return this.#faultRandom;
  }

  /** The options name the token only as set or not. */
  describe() {
    const wells = this.daily.uwis();
    const { equipmentIds, wellIds } = this.assets.source;
    return {
      wells,
      equipment: equipmentIds,
      sourceWells: wellIds,
      counts: {
        wells: wells.length,
        equipment: equipmentIds.length,
        dailyRows: this.daily.rowCount(),
        pipes: this.received.pipeCount,
        deletions: this.received.deletions().length,
        requests: this.log.counts().total,
      },
      options: shownOptions(this.#options),
    };
  }

  pipes(): ReceivedPipe[] {
    return this.received.pipes();
  }

  deletions(): ReceivedDeletion[] {
    return this.received.deletions();
  }

  requests(): RequestCounts {
    return this.log.counts();
  }

  /**
   * Sets the given options for requests that arrive from now on. Throws ZodError, and changes nothing, when one is
   * wrong.
   */
  setOptions(change: unknown): TestingServerOptions {
    this.#options = changedOptions(this.#options, change);
    this.#faultRandom = createRandom(`faults ${this.#options.seed}`);
    return shownOptions(this.#options);
  }

  /**
   * Changes daily production by JSON lines: a record with its `uwi` inserts or replaces by xid,
   * `{"uwi":…,"remove":xid}` removes. Throws RequestError with the number of a wrong line, and then changes nothing.
   */
  changeDaily(ndjson: string): ChangeCounts {
    const lines = [...ndjson.split('\n').entries()].filter(([, line]) => line.trim() !== '');
    return this.daily.change(lines.map(([index, line]) => changeOnLine(line, index + 1)));
  }

  /** Restores the initial options and data, and clears received data and counts. */
  reset() {
    this.daily.reset();
    this.assets.reset();
    this.received.reset();
    this.log.reset();
    this.#options = this.#initialOptions;
    this.#faultRandom = createRandom(`faults ${this.#options.seed}`);
    return this.describe();
  }
}

function changeOnLine(line: string, lineNumber: number): DailyChange {
  try {
    return changeFromText(line);
  } catch (error) {
    throw new RequestError(400, `line ${lineNumber}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
