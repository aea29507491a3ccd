/** Compiled code that later commands find again, where Node keeps it (22.1 and later): a command starts the sooner. */
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

/** Node 20 has none; it needs no types of a later one. */
const { enableCompileCache } = module as { readonly enableCompileCache?: (folder: string) => unknown };

/**
 * In the user's folder for caches. Not in one that another user could have filled, with root's name say: what lies there is
 * run. Does without where it cannot be written, and where NODE_DISABLE_COMPILE_CACHE is set.
 */
export function keepCompiledCode(): void {
  if (enableCompileCache === undefined) return;
  try {
    const folder = path.join(cacheFolder(), 'wellsync', 'compiled');
    // Not with `recursive`: Node retries for ever where none can be made, as in /proc.
    for (const each of [cacheFolder(), path.dirname(folder), folder])
      if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
    const { uid, mode } = lstatSync(folder);
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    if (isOwn) enableCompileCache(folder);
  } catch {
    // A home that is read-only, or none.
  }
}

function cacheFolder(): string {
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (process.platform === 'win32') return LOCALAPPDATA ?? path.join(homedir(), 'AppData', 'Local');
  if (process.platform === 'darwin') return path.join(homedir(), 'Library', 'Caches');
  return path.isAbsolute(XDG_CACHE_HOME ?? '') ? (XDG_CACHE_HOME ?? '') : path.join(homedir(), '.cache');
}
