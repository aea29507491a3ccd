/**
 * The lanes of a queue. Small runs have places of their own in every worker, so that they begin at once, however many and
 * long the items of large runs are.
 */
import type { ChunkQueueName } from '../core/run/job-description.ts';

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

/** Items of one queue take turns by their position in their run; no position is beyond this. */
export const lowestPriority = 2_097_151;

/** Steps of the coordinator are short: one process can run many. */
export const coordinatorConcurrency = 10;
