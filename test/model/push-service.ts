/**
 * A service in memory that takes pipes, and keeps every date of a pipe in one store and one row a pipe in another. It notes
 * what each run was answered, so that a model can say what a checkpoint may pass.
 */
import type { ServiceRequest } from '../../src/service/http-exchange.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import type { MemoryProcess } from '../support/memory-redis.ts';
import { type GivenAnswer, memoryClient, token } from './memory-client.ts';
import type { Pace } from './world.ts';

interface SentPipe {
  readonly sourceNetworkId: string;
  readonly sourceId: string;
  readonly date?: string;
  readonly upstreamSourceId: string;
  readonly downstreamSourceId?: string;
}

export interface Refusing {
  /** Largest body, in bytes. */
  readonly mostBytes: number;
  /** Whether a refused request is stored up to the pipe that is refused. */
  readonly storesPart: boolean;
}

export class PushService {
  readonly #refusing: Refusing;
  /** The row that it holds. */
  readonly byPipe = new Map<string, string>();
  readonly byVersion = new Map<string, string>();
  /** The run and the file of each request, in order. */
  readonly sent: { readonly runId: string; readonly file: string }[] = [];
  /** Rows with an outcome of which a worker of the run has heard. */
  readonly #heard = new Map<string, Set<string>>();
  /** Rows that it refused when they came alone. */
  readonly refused = new Set<string>();
  readonly violations: string[] = [];
  /** Requests that are answered with 503 from now on. */
  faults = 0;
  /** Requests that take effect and are not answered, from now on. */
  losses = 0;

  constructor(refusing: Refusing) {
    this.#refusing = refusing;
  }

  hasHeard(runId: string, row: string): boolean {
    return this.#heard.get(runId)?.has(row) === true;
  }

  /** The client of a process, which may send only while it owns the push, and works the warehouse. */
  client(pace: Pace, own: MemoryProcess, mayWork: () => boolean): ProductionDataService {
    return memoryClient(pace, (request, runId) => this.#answer(request, runId), {
      onCall: (_, runId) => {
        const lease = own.state.leases.get(`${runId}:0`);
        const isOthers = lease !== undefined && lease.owner !== own && own.now() < lease.owner.endOf(lease);
        if (isOthers) this.violations.push(`G5: ${runId} sends while another process pushes it`);
        if (!mayWork()) this.violations.push(`G11: ${runId} sends, and its process has lost the warehouse`);
      },
      onAnswer: (request, runId, status) => this.#hear(pipesOf(request), runId, status),
    });
  }

  #hear(pipes: readonly SentPipe[], runId: string, status: number | undefined): void {
    // Of a pipe that went alone a refusal is its outcome.
    const isRefused = status === 413 || status === 422;
    if (status !== 200 && !(isRefused && pipes.length === 1)) return;
    const heard = this.#heard.get(runId) ?? new Set();
    this.#heard.set(runId, heard);
    for (const pipe of pipes) heard.add(rowOf(pipe));
  }

  #answer(request: ServiceRequest, runId: string): GivenAnswer {
    const pipes = pipesOf(request);
    this.sent.push({ runId, file: pipes[0]?.sourceNetworkId ?? '' });
    if (this.faults > 0) {
      this.faults -= 1;
      return { status: 503, text: `busy, said ${token}` };
    }
    const status = this.#store(pipes, Buffer.byteLength(request.body ?? ''));
    if (this.losses === 0) return { status, text: status === 200 ? '' : `no, said ${token}` };
    this.losses -= 1;
    return 'lost';
  }

  /** Returns the status of the answer. */
  #store(pipes: readonly SentPipe[], bytes: number): number {
    const first = pipes.findIndex(({ downstreamSourceId }) => downstreamSourceId === 'refused');
    const isTooLarge = bytes > this.#refusing.mostBytes;
    const [alone] = pipes;
    if ((isTooLarge || first >= 0) && pipes.length === 1 && alone !== undefined) this.refused.add(rowOf(alone));
    if (isTooLarge) return 413;
    const taken = first < 0 ? pipes : pipes.slice(0, this.#refusing.storesPart ? first : 0);
    for (const pipe of taken) {
      const key = `${pipe.sourceNetworkId} ${pipe.sourceId}`;
      this.byPipe.set(key, rowOf(pipe));
      this.byVersion.set(`${key} ${pipe.date?.slice(0, 10) ?? ''}`, rowOf(pipe));
    }
    return first < 0 ? 200 : 422;
  }
}

function pipesOf({ body }: ServiceRequest): readonly SentPipe[] {
  return JSON.parse(body ?? '[]') as readonly SentPipe[];
}

function rowOf({ upstreamSourceId }: SentPipe): string {
  return upstreamSourceId.replace('row ', '');
}
