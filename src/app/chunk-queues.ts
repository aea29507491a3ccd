export { chunkQueues, type ChunkQueueName } from '../queue/port.ts';
