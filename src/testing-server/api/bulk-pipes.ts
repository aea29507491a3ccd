/**
 * The bulk request of network pipes: the items that it stores, and the item for which it is refused (docs/interface.md
 * section 4.7).
 */
import { arrayItems } from '../data/json-text.ts';
import type { TestingServerOptions } from '../options.ts';
import type { PipeKey, Received } from './received.ts';
import { RequestError } from './request-error.ts';

/** Whether the service refuses a pipe, given as parsed JSON. */
export type PipeRefusal = (item: PipeKey & Readonly<Record<string, unknown>>) => boolean;

type RejectionOptions = Pick<TestingServerOptions, 'rejectSourceIds' | 'rejectStatus' | 'bulkRejection' | 'pipeKey'>;

/**
 * Stores the items of a JSON array by (sourceNetworkId, sourceId), and by date where that is set, later ones over earlier ones, each as its slice of
 * the body. Throws RequestError: 400 for a body that is not an array of pipes (nothing is stored then), the configured
 * status for a body with a refused pipe.
 */
export function storePipes(body: string, received: Received, refusal: PipeRefusal, options: RejectionOptions): void {
  const items = parsedItems(body);
  const refused = items.map((item) => options.rejectSourceIds.includes(item.sourceId) || refusal(item));
  const firstRefused = refused.indexOf(true);
  if (firstRefused === -1 || options.bulkRejection === 'partial') {
    const texts = arrayItems(body);
    for (const [index, item] of items.entries()) {
      if (refused[index] === false) received.storePipe(item, texts[index] ?? '', options.pipeKey);
    }
  }
  if (firstRefused === -1) return;
  throw new RequestError(
    options.rejectStatus,
    `item ${firstRefused} is refused: pipe ${items[firstRefused]?.sourceId}`,
  );
}

function parsedItems(body: string): (PipeKey & Record<string, unknown>)[] {
  const items = parsed(body);
  if (!Array.isArray(items)) throw new RequestError(400, 'the body is not a JSON array');
  const wrong = items.findIndex((item) => !isPipe(item));
  if (wrong !== -1)
    throw new RequestError(400, `item ${wrong} is not an object with a text sourceNetworkId and sourceId`);
  return items as (PipeKey & Record<string, unknown>)[];
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new RequestError(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isPipe(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false;
  const { sourceNetworkId, sourceId } = item as Partial<Record<keyof PipeKey, unknown>>;
  return isKeyPart(sourceNetworkId) && isKeyPart(sourceId);
}

function isKeyPart(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
