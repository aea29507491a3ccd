/** Whether a store does what wellsync asks of it: a small file is written, read and removed. */
import { randomUUID } from 'node:crypto';
import { PermanentError } from '../core/base/errors.ts';
import type { FileStore } from './port.ts';

/**
 * Returns the address of the store. Throws as its calls do, and PermanentError (`files-check`) where a read does not see the
 * last write.
 */
export async function checkStore(store: FileStore): Promise<string> {
  const [name, text] = [`check/${randomUUID()}`, 'wellsync doctor'];
  await store.write(name, Buffer.from(text));
  const found = await store.read(name, text.length);
  await store.remove(name);
  if (String(found) === text && (await store.stat(name)) === undefined) return store.address;
  throw new PermanentError(
    'files-check',
    `${store.address} does not give back what was written, or does not remove it`,
    {
      hint: 'wellsync needs a store in which a read sees the last write at once.',
    },
  );
}
