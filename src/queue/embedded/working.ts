/**
 * This process, while it works the warehouse: other commands of its host reach it over a socket, and the server of the warehouse
 * knows that it lives.
 */
import { after } from '../../timers/sleep.ts';
import type { Peers, PeerOptions } from './peers.ts';
import type { EmbeddedQueue } from './run-queue.ts';
import { socketPath } from './socket-path.ts';
import { type QueueServer, type ServedWork, serveQueue } from './socket-server.ts';

/** How soon what others left in the ledger is read again, where it could not be read. */
const readAgainMs = 1_000;

/** Runs beyond are found in the ledger. */
const mostSubmitted = 100;

/** The work of a claim, from before the claim stands until after it has ended. */
export interface EnteredWork {
  /** To be called once the claim stands. Returns why other commands cannot reach this process, if they cannot. */
  begin(): Promise<unknown>;
  /** To be called after each beat of the claim, with until when no other process takes the warehouse. */
  beaten(sureUntilMs: number): void;
  /** To be called before the claim ends: what was noted is written while it still counts. */
  prepareEnd(): Promise<void>;
  /** To be called once the claim has ended, or where it was not given. */
  end(): Promise<void>;
}

export class Working {
  readonly #local: EmbeddedQueue;
  readonly #peers: Peers;
  readonly #options: PeerOptions;
  /** Runs that were submitted before this process worked: they need no revival. */
  readonly #submitted: (readonly [runId: string, generation: number])[] = [];
  /** `entered`: the claim does not stand yet; `ending`: it is about to end. */
  #state: 'idle' | 'entered' | 'working' | 'ending' = 'idle';
  #hasMissedWord = false;
  #onWoken = (): void => {};
  #server: QueueServer | undefined;
  /** Why there is no socket. */
  #unserved: unknown;
  #presence: { end(): Promise<void> } | undefined;

  constructor(local: EmbeddedQueue, peers: Peers, options: PeerOptions) {
    this.#local = local;
    this.#peers = peers;
    this.#options = options;
  }

  get isWorking(): boolean {
    return this.#state === 'working' || this.#state === 'ending';
  }

  /** `action` is called when another process has left runs in the ledger, or has changed the schedules. */
  onWoken(action: () => void): void {
    this.#onWoken = action;
  }

  /** A run that no process could be given. */
  remember(runId: string, generation: number): void {
    if (this.#submitted.length < mostSubmitted) this.#submitted.push([runId, generation]);
  }

  /**
   * Lets other commands in, before this process claims the warehouse: from the claim on, they look for it. `sendRequest` sends
   * their requests to the service. Where no socket can be made, others wait for what is in the ledger.
   */
  async enter(sendRequest: ServedWork['sendRequest']): Promise<EnteredWork> {
    const { queueId, beside, presence } = this.#options;
    const onWoken = (): void => void this.#wake();
    try {
      this.#server ??= await serveQueue(socketPath(queueId, beside), this.#local, {
        onWoken,
        // The connection ends with the claim: then it is asked of whoever works next.
        sendRequest: async (...given) => (this.#state === 'ending' ? undefined : sendRequest(...given)),
      });
      this.#unserved = undefined;
    } catch (error) {
      this.#unserved = error;
    }
    try {
      this.#presence ??= await presence.keep(queueId, onWoken);
    } catch (error) {
      await this.#end();
      throw error;
    }
    this.#state = 'entered';
    // How old the beat of an earlier claim is says nothing about this one.
    this.#local.beaten(Infinity);
    return {
      begin: () => this.#begin(),
      beaten: (sureUntilMs) => this.#local.beaten(sureUntilMs),
      prepareEnd: async () => {
        this.#state = 'ending';
        await this.#local.close();
      },
      end: () => this.#end(),
    };
  }

  async #begin(): Promise<unknown> {
    this.#peers.end();
    await this.#local.restore();
    this.#local.serviceHold.state.isWorking = true;
    for (const [runId, generation] of this.#submitted.splice(0)) await this.#local.submit(runId, generation);
    this.#state = 'working';
    if (this.#hasMissedWord) await this.#wake();
    await this.#peers.removeDead();
    return this.#unserved;
  }

  /** Another process has left work in the ledger, or a word about work. */
  async #wake(): Promise<void> {
    this.#hasMissedWord = this.#state === 'entered';
    if (this.#state !== 'working') return;
    try {
      await this.#local.readWords();
    } catch {
      after(readAgainMs, () => void this.#wake(), { ref: false });
    }
    this.#onWoken();
  }

  async #end(): Promise<void> {
    this.#state = 'idle';
    this.#local.serviceHold.state.isWorking = false;
    const [server, presence] = [this.#server, this.#presence];
    this.#server = undefined;
    this.#presence = undefined;
    await server?.close();
    await presence?.end();
  }

  close(): Promise<void> {
    return this.#end();
  }
}
