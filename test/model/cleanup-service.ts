/**
 * A service in memory that has time series, micro strings and wellbores to delete. It asks at the moment at which a deletion
 * arrives whether it may (G6), and notes which run has removed what.
 */
import { type DeletionTarget, targetText } from '../../src/core/cleanup/target.ts';
import type { ServiceRequest } from '../../src/service/http-exchange.ts';
import type { ProductionDataService } from '../../src/service/production-data-service.ts';
import { type GivenAnswer, memoryClient, token } from './memory-client.ts';
import type { Pace } from './world.ts';

const wells = ['W1', 'W2', 'W3'];
const equipment = ['E1', 'E2'];

function seriesOf(ownerId: string): readonly DeletionTarget[] {
  return ['S1', 'S2', 'S3'].map((sourceId) => ({ kind: 'time-series', ownerId, sourceId }));
}

function ofWell(ownerId: string): readonly DeletionTarget[] {
  return (['micro-strings', 'wellbores'] as const).map((kind) => ({ kind, ownerId, sourceId: null }));
}

/** All that there is to delete. */
export const allTargets: readonly DeletionTarget[] = [...equipment.flatMap(seriesOf), ...wells.flatMap(ofWell)];

/** The warehouse cannot say that it does not produce. */
export const producingWell = 'W1';

/** What the service refuses to delete. */
export function isProtected({ kind, ownerId }: DeletionTarget): boolean {
  return kind === 'wellbores' && ownerId === 'W3';
}

export interface AskedDeletion {
  readonly runId: string;
  readonly target: DeletionTarget;
  /** Calls of the run for this target, this one among them. */
  readonly calls: number;
}

export class CleanupService {
  /** Why a deletion may not be, a sentence each. */
  readonly #whyNot: (asked: AskedDeletion) => Promise<readonly string[]>;
  readonly #there = new Set(allTargets.map(targetText));
  readonly #calls = new Map<string, number>();
  /** By target, the run whose request removed it; '' for somebody else. */
  readonly removedBy = new Map<string, string>();
  readonly violations: string[] = [];
  /** Requests that are answered with 503 from now on. */
  faults = 0;
  /** Requests that take effect and are not answered, from now on. */
  losses = 0;

  constructor(whyNot: (asked: AskedDeletion) => Promise<readonly string[]>) {
    this.#whyNot = whyNot;
  }

  has(target: DeletionTarget): boolean {
    return this.#there.has(targetText(target));
  }

  /** By a run, or by somebody else. */
  remove(target: DeletionTarget, by = ''): void {
    if (this.#there.delete(targetText(target))) this.removedBy.set(targetText(target), by);
  }

  /** The client of a process, which may delete only while it works the warehouse. */
  client(pace: Pace, mayWork: () => boolean): ProductionDataService {
    return memoryClient(pace, (request, runId) => this.#answer(request, runId), {
      attempts: 2,
      onCall: (request, runId) => {
        if (request.method !== 'DELETE') return;
        const key = `${runId} ${targetText(targetOf(request))}`;
        this.#calls.set(key, (this.#calls.get(key) ?? 0) + 1);
        if (!mayWork()) this.violations.push(`G11: ${key} is deleted, and its process has lost the warehouse`);
      },
    });
  }

  async #answer(request: ServiceRequest, runId: string): Promise<GivenAnswer> {
    if (request.method === 'DELETE') {
      const target = targetOf(request);
      const calls = this.#calls.get(`${runId} ${targetText(target)}`) ?? 0;
      this.violations.push(...(await this.#whyNot({ runId, target, calls })));
    }
    if (this.faults > 0) {
      this.faults -= 1;
      return { status: 503, text: `busy, said ${token}` };
    }
    if (request.method !== 'DELETE') return { status: 200, text: this.#shown(request.path) };
    const given = this.#delete(targetOf(request), runId);
    if (this.losses === 0) return given;
    this.losses -= 1;
    return 'lost';
  }

  #delete(target: DeletionTarget, runId: string): GivenAnswer {
    if (!this.has(target)) return { status: 404, text: `unknown, said ${token}` };
    if (isProtected(target)) return { status: 409, text: `protected, said ${token}` };
    this.remove(target, runId);
    return { status: 200, text: '1' };
  }

  #shown(path: string): string {
    const [, owner = ''] = /(?:equipment|well)\/(\w+)/.exec(path) ?? [];
    if (!path.endsWith('/time-series')) return JSON.stringify({ sourceId: owner });
    const equipmentXid = '00000000-0000-4000-8000-000000000000';
    const records = seriesOf(owner)
      .filter((target) => this.has(target))
      .map(({ sourceId }) => {
        const xid = `${equipmentXid.slice(0, -1)}${sourceId?.at(-1) ?? ''}`;
        return { xid, equipmentXid, sourceId, measurement: 'rate' };
      });
    return JSON.stringify(records);
  }
}

function targetOf({ path }: ServiceRequest): DeletionTarget {
  const [, ownerId = '', record = ''] = /(?:equipment|well)\/(\w+)\/(.*)$/.exec(path) ?? [];
  if (record === 'micro_string') return { kind: 'micro-strings', ownerId, sourceId: null };
  if (record === 'wellbore') return { kind: 'wellbores', ownerId, sourceId: null };
  return { kind: 'time-series', ownerId, sourceId: record.replace('time-series/', '') };
}
