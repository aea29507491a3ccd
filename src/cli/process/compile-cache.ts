/** Compiled code that later commands find again, so that they start sooner. */
import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import module, { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import vm from 'node:vm';

/** Node 20 has none; it needs no types of a later one. */
const { enableCompileCache } = module as { readonly enableCompileCache?: (folder: string) => unknown };

/**
 * In the user's folder for caches, where no other user could put anything: what lies there is run. Does without where that
 * cannot be written, and where NODE_DISABLE_COMPILE_CACHE is set.
 */
export function keepCompiledCode(): void {
  if (process.env['NODE_DISABLE_COMPILE_CACHE'] !== undefined) return;
  try {
    const above = cacheFolder();
    const folder = path.join(above, 'wellsync', 'compiled');
    // The folder of another user stays as it is: root may run with a user's home.
    const isSafe =
      path.isAbsolute(above) &&
      isOwnFolder(path.dirname(above), { orOfRoot: true }) &&
      [above, path.dirname(folder), folder].every((each) => isOwnFolderOrMade(each));
    if (!isSafe) return;
    if (enableCompileCache === undefined) keepPieces(folder);
    else enableCompileCache(folder);
  } catch {
    // A home that is read-only, or none.
  }
}

/** Not with `recursive`: Node retries for ever where none can be made, as in /proc. */
function isOwnFolderOrMade(folder: string): boolean {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  return isOwnFolder(folder);
}

function isOwnFolder(folder: string, { orOfRoot = false } = {}): boolean {
  if (process.getuid === undefined) return true;
  const { uid, mode } = lstatSync(folder);
  return (uid === process.getuid() || (orOfRoot && uid === 0)) && (mode & 0o022) === 0;
}

/** Relative where there is no home. */
function cacheFolder(): string {
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (process.platform === 'win32') return LOCALAPPDATA ?? path.join(homedir(), 'AppData', 'Local');
  if (process.platform === 'darwin') return path.join(homedir(), 'Library', 'Caches');
  return path.isAbsolute(XDG_CACHE_HOME ?? '') ? (XDG_CACHE_HOME ?? '') : path.join(homedir(), '.cache');
}

// Node 20: the same for the pieces of the bundled program.

type Wrapped = (
  exports: unknown,
  require: NodeJS.Require,
  self: NodeJS.Module,
  file: string,
  folder: string,
) => unknown;

/** Outside a comment. On Node 20 `import()` fails in code from a cache. */
const importsLater = /^(?!\s*(?:\*|\/\*\*|\/\/)).*\bimport\(/m;

/** A folder for each Node, and for each set of V8's flags: V8 refuses code compiled for another. */
function keepPieces(parent: string): void {
  const folder = path.join(parent, `${process.version}-${process.arch}-${v8.cachedDataVersionTag()}`);
  const program = path.dirname(fileURLToPath(import.meta.url));
  const { extensions } = createRequire(import.meta.url);
  const compiled = new Map<string, vm.Script>();
  extensions['.cjs'] = (self, file): void => {
    if (path.dirname(file) !== program) return void extensions['.js'](self, file);
    const kept = path.join(folder, keyOf(file));
    const cachedData = readKept(kept);
    // scripts/setup/bundle.mjs writes nothing but ASCII.
    const code = Buffer.concat([opening, readFileSync(file), closing]).toString('latin1');
    if (cachedData === undefined && importsLater.test(code)) return void extensions['.js'](self, file);
    const script = new vm.Script(code, { filename: file, ...(cachedData && { cachedData }) });
    if (cachedData === undefined || script.cachedDataRejected === true) {
      // V8 forgets code that was not called for a while: all of a start, until a long command ends.
      if (compiled.size === 0) v8.setFlagsFromString('--no-flush-bytecode');
      compiled.set(kept, script);
    }
    const run = script.runInThisContext() as Wrapped;
    run.call(self.exports, self.exports, createRequire(file), self, file, path.dirname(file));
  };
  // With the functions that were called: those are compiled by now.
  process.once('exit', () => {
    if (compiled.size === 0) return;
    // It is among the flags under which code is kept.
    v8.setFlagsFromString('--flush-bytecode');
    store(folder, compiled);
  });
}

/** Around the code of a module. Joined as bytes: as texts V8 would copy all of them once more. */
const [opening = Buffer.of(), closing = Buffer.of()] = module
  .wrap('\0')
  .split('\0')
  .map((part) => Buffer.from(part));

/** The name of a piece tells its content; the rest tells one that was changed since by hand. */
function keyOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return createHash('sha1').update(`${file}\0${size}\0${mtimeMs}`).digest('hex');
}

const digestBytes = 32;

/** V8 runs what it is given: a file that a crash left torn counts as none. */
function readKept(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    const data = bytes.subarray(digestBytes);
    return digestOf(data).equals(bytes.subarray(0, digestBytes)) ? data : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

function store(folder: string, compiled: ReadonlyMap<string, vm.Script>): void {
  const written = path.join(folder, randomUUID());
  try {
    if (!isOwnFolderOrMade(folder)) return;
    for (const [file, script] of compiled) {
      const data = script.createCachedData();
      writeFileSync(written, Buffer.concat([digestOf(data), data]), { mode: 0o600 });
      renameSync(written, file);
    }
    removeOld(path.dirname(folder));
  } catch {
    // A disk that is full, say: the next command compiles again.
    rmSync(written, { force: true });
  }
}

const keptForMs = 30 * 86_400_000;

/** What earlier programs and Nodes left. What is still used is stored again. */
function removeOld(folder: string): void {
  const beforeMs = Date.now() - keptForMs;
  for (const each of readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })) {
    const file = path.join(each.parentPath, each.name);
    if (each.isFile() && lstatSync(file).mtimeMs < beforeMs) rmSync(file, { force: true });
  }
}
