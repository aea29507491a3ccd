import type { ChunkItem } from './port.ts';

/** The stored form of a chunk's item in Redis, where the generation is called `round`. */
export interface ChunkItemData extends Omit<ChunkItem, 'generation'> {
  readonly round: number;
}

export function dataOf({ runId, generation, chunk }: ChunkItem): ChunkItemData {
  return { runId, round: generation, chunk };
}

export function itemOf({ runId, round, chunk }: ChunkItemData): ChunkItem {
  return { runId, generation: round, chunk };
}

export function chunkItemId({ runId, generation, chunk }: ChunkItem): string {
  return `${runId}-${generation}-${chunk}`;
}
