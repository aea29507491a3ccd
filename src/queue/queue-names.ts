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

/** `export-3f9a1c27`. */
export function queueName(
  queue: ChunkQueueName | typeof runsQueueName | typeof ticksQueueName,
  service: string,
): string {
  return `${queue}-${serviceHash(service)}`;
}
