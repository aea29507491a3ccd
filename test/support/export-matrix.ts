/**
 * The common part of the service matrix: a testing server that takes each combination in turn, and reads that are
 * counted.
 */
import type { WindowReading } from '../../src/core/daily/reading.ts';
import type { ServiceProfile } from '../../src/core/paging/service-profile.ts';
import { DAY_MS, type Window } from '../../src/core/time/window.ts';
import { probeService } from '../../src/service/build-profile.ts';
import type { GivenRecord } from '../../src/testing-server/data/rows.ts';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import type { TestingServerOptionsInput } from '../../src/testing-server/options.ts';
import { startTestingServer, type TestingServer } from '../../src/testing-server/testing-server.ts';
import { serviceAt } from './service-under-test.ts';

const startMs = Date.UTC(2024, 0, 1);

/** Wells by the number of their rows inside the window; each has three more rows on both sides of it. */
export const wellSizes = [0, 1, 2, 9, 10, 11, 12, 13, 29, 60] as const;

const window: Window = { fromMs: startMs, toMs: startMs + 60 * DAY_MS };

export function uwiOf(size: number): string {
  return `${size} days`;
}

/** A row on a day, counted from the first day of the window. */
export function rowOn(uwi: string, day: number, fields: Readonly<Record<string, unknown>> = {}): GivenRecord {
  const rates = { oilRate: day, gasRate: 0, waterRate: 0, tubingPressure: 0, casingPressure: 0 };
  return { uwi, date: new Date(startMs + day * DAY_MS).toISOString(), ...rates, ...fields };
}

function rowsOf(size: number): GivenRecord[] {
  const inside = Array.from({ length: size }, (_, index) => index);
  return [-3, -2, -1, ...inside, 60, 61, 62].map((day) => rowOn(uwiOf(size), day));
}

/** The exact days that a read of the well must return. */
export function expectedDays(size: number): readonly number[] {
  return Array.from({ length: size }, (_, index) => index);
}

export function daysOf({ rows }: WindowReading): readonly number[] {
  return [...rows.instantsMs]
    .map((instantMs) => (instantMs - startMs) / DAY_MS)
    .toSorted((left, right) => left - right);
}

export type Combination = Omit<TestingServerOptionsInput, 'host' | 'port'>;

export interface MatrixRead {
  readonly reading: WindowReading;
  readonly requests: number;
}

export interface Matrix extends AsyncDisposable {
  readonly server: TestingServer;
  /** Reconfigures the server, for a new client; `onRequest` is called before each answer. */
  become(combination: Combination, onRequest?: () => void): Promise<void>;
  probe(): Promise<ServiceProfile>;
  /** One read, with its requests. */
  read(size: number, pageLimit: number, profile?: ServiceProfile): Promise<MatrixRead>;
}

export async function startMatrix(): Promise<Matrix> {
  let hook: (() => void) | undefined;
  const onRequest = (): undefined => {
    hook?.();
  };
  const data = givenDaily(wellSizes.flatMap(rowsOf), wellSizes.map(uwiOf));
  const server = await startTestingServer({ data, onRequest });
  let client = serviceAt(server.url, { retry: patient });
  return {
    server,
    become: async (combination, hookOfAll) => {
      await client[Symbol.asyncDispose]();
      client = serviceAt(server.url, { retry: patient });
      server.state.reset();
      server.state.setOptions(combination);
      hook = hookOfAll;
    },
    probe: async () => probeService(client.service, { uwi: uwiOf(60), timeZone: 'UTC' }),
    read: async (size, pageLimit, profile) => {
      const request = { uwi: uwiOf(size), window, timeZone: 'UTC', pageLimit, profile };
      const reading = await client.service.readDailyProduction(request);
      return { reading, requests: reading.counts.requests };
    },
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

/** Faults at low rates never use up these attempts. */
const patient = { maxAttempts: 12, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 60_000 };

/** The product of the choices: every combination of one value of each. */
export function combinationsOf<Choices extends Readonly<Record<string, readonly unknown[]>>>(
  choices: Choices,
): readonly { readonly [Name in keyof Choices]: Choices[Name][number] }[] {
  return Object.entries(choices).reduce<Record<string, unknown>[]>(
    (combinations, [name, values]) =>
      combinations.flatMap((combination) => values.map((value) => ({ ...combination, [name]: value }))),
    [{}],
  ) as { readonly [Name in keyof Choices]: Choices[Name][number] }[];
}

/** The cost of a group of the matrix, printed at its end. */
export class MatrixCost {
  reads = 0;
  requests = 0;
  fewest = 0;

  add({ requests }: MatrixRead, fewest: number): void {
    this.reads += 1;
    this.requests += requests;
    this.fewest += fewest;
  }

  words(): string {
    const ratio = (this.requests / this.fewest).toFixed(2);
    return `${this.reads} reads, ${this.requests} requests; ${this.fewest} pages held the rows (${ratio} requests a page)`;
  }
}
