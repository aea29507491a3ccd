/** The requests in the order of their arrival, and how many are in flight. */
import type { ServerResponse } from 'node:http';
import type { ServiceRequest } from '../evidence.ts';

/** A request while it is worked. */
export type OpenRequest = { -readonly [Key in keyof ServiceRequest]: ServiceRequest[Key] };

export class RequestLog {
  readonly #requests: OpenRequest[] = [];
  readonly #now: () => number;
  #inFlight = 0;
  #busiest = { inFlight: 0, atMs: 0 };
  #waiting: Array<() => void> = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  get requests(): readonly ServiceRequest[] {
    return this.#requests.map((request) => ({ ...request }));
  }

  /** The first moment with the most requests in flight. */
  get busiest(): { readonly inFlight: number; readonly atMs: number } {
    return this.#busiest;
  }

  /** Counts a request, from its head to the end of its answer or of its connection. */
  enter(response: ServerResponse): void {
    this.#inFlight += 1;
    if (this.#inFlight > this.#busiest.inFlight) this.#busiest = { inFlight: this.#inFlight, atMs: this.#now() };
    response.once('close', () => {
      this.#inFlight -= 1;
      if (this.#inFlight > 0) return;
      for (const resolve of this.#waiting) resolve();
      this.#waiting = [];
    });
  }

  /** Adds a request that is there as a whole; its status and the time of its answer follow. */
  add(request: Omit<ServiceRequest, 'no' | 'arrivedMs' | 'status'>, response: ServerResponse): OpenRequest {
    const entry: OpenRequest = { no: this.#requests.length, arrivedMs: this.#now(), ...request, status: 0 };
    this.#requests.push(entry);
    const answered = (): void => {
      if (!response.headersSent) return;
      entry.status = response.statusCode;
      entry.answeredMs ??= this.#now();
    };
    response.once('finish', answered);
    response.once('close', answered);
    return entry;
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
