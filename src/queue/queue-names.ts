/**
 * Names of the queues and of the other keys of one service. Each contains a hash of the service key, so that no worker
 * takes an item of another service (G11, docs/design.md section 5).
 */
import { createHash } from 'node:crypto';
import type { ChunkQueueName, runsQueueName, ticksQueueName } from './port.ts';
import { keyPrefix, type RedisPlace } from './redis/settings.ts';

/** Address of the queues of a service. */
export interface QueueAddress extends RedisPlace {
  /** Key of the service (src/core/base/service-key.ts). */
  readonly service: string;
}

/** 8 hexadecimal digits: Redis keys never contain an address or an id. */
export function serviceHash(service: string): string {
  return createHash('sha256').update(service).digest('hex').slice(0, 8);
}

/** Beginning of the keys that hold the limits towards a service, for all workers together (G9). */
export function limitsKey(address: QueueAddress): string {
  return `${keyPrefix(address)}:service:${serviceHash(address.service)}`;
}

/**
 * The lanes of a queue. Small runs have places of their own in every worker, so that they begin at once, however many and
 * long the items of large runs are.
 */
export type Lane = 'large' | 'small';

/** Items of a small run: each worker has as many places for them as for those of large runs. */
const mostSmallItems = 4;

/** The lane of a run with so many items. A push is one item, however large its file is. */
export function laneOf(queue: ChunkQueueName, items: number): Lane {
  return queue !== 'push' && items <= mostSmallItems ? 'small' : 'large';
}

/** The lanes that {@link laneOf} gives out for a queue. */
export function lanesOf(queue: ChunkQueueName): readonly Lane[] {
  return queue === 'push' ? ['large'] : ['large', 'small'];
}

/** `export-3f9a1c27`, and `export-small-3f9a1c27`. */
export function laneName(queue: ChunkQueueName, lane: Lane, service: string): string {
  return lane === 'large' ? queueName(queue, service) : `${queue}-${lane}-${serviceHash(service)}`;
}

/** `export-3f9a1c27`. */
export function queueName(
  queue: ChunkQueueName | typeof runsQueueName | typeof ticksQueueName,
  service: string,
): string {
  return `${queue}-${serviceHash(service)}`;
}
