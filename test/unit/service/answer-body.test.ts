import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { BodyBudget, readWholeBody } from '../../../src/service/answer-body.ts';

const blockBytes = 1_024;

async function bodyOf(bytes: Buffer, keepsArray: boolean) {
  const room = new BodyBudget(blockBytes).open();
  const bounds = { room, maxBytes: 100_000, blockBytes };
  return readWholeBody(
    { chunks: Readable.from([bytes]), length: undefined, encoding: null, label: 'GET /x' },
    bounds,
    keepsArray,
  );
}

it('an array in ASCII is kept as bytes, and is text where that is wanted', async () => {
  const body = await bodyOf(Buffer.from('[1,2]'), true);
  expect(body.bytes?.toString()).toBe('[1,2]');
  expect(body.text()).toBe('[1,2]');
});

it.each([
  ['an object', Buffer.from('{}'), true],
  ['text beyond ASCII', Buffer.from('["\u00e9"]'), true],
  ['bytes that are not UTF-8', Buffer.from([0x5b, 0xff, 0x5d]), true],
  ['nothing', Buffer.alloc(0), true],
  ['an array of several blocks', Buffer.from(`[${' '.repeat(2_000)}]`), true],
  ['an array that nobody wants as bytes', Buffer.from('[1]'), false],
])('of %s no bytes are kept', async (_what, bytes, keepsArray) => {
  const body = await bodyOf(bytes, keepsArray);
  expect(body.bytes).toBeUndefined();
  expect(body.text()).toHaveLength(bytes.equals(Buffer.from('["\u00e9"]')) ? 5 : bytes.length);
});
