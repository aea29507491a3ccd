/** Given to `node --import`: every module that is imported is written, a URL a line, to the file named by RECORDED_IMPORTS. */
import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Node runs the hooks below in a thread of their own, which loads this file again.
if (isMainThread) register(import.meta.url);

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, nextResolve) {
  const resolved = await nextResolve(specifier, context);
  appendFileSync(process.env['RECORDED_IMPORTS'] ?? '', `${resolved.url}\n`);
  return resolved;
}
