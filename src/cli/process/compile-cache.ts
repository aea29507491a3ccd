/** Compiled code that later commands find again, so that they start sooner. */
import { isAscii } from 'node:buffer';
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
import { setWorkFlag, underCodeFlags } from './heap-flags.ts';
import { isLimited } from './limited-process.ts';

const { extensions } = createRequire(import.meta.url);

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
    const load = enableCompileCache === undefined ? piecesIn(folder) : extensions['.js'];
    enableCompileCache?.(folder);
    // What a piece imports is loaded within.
    extensions['.cjs'] = (self, file) => underCodeFlags(() => load(self, file));
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

type Load = (self: NodeJS.Module, file: string) => void;

type Wrapped = (
  exports: unknown,
  require: NodeJS.Require,
  self: NodeJS.Module,
  file: string,
  folder: string,
) => unknown;

interface Piece {
  readonly script: vm.Script;
  /** Bytes of what was kept of it, and V8 took; 0 without any. */
  readonly keptBytes: number;
}

/** Outside a comment. On Node 20 `import()` fails in code from a cache. */
const importsLater = /^(?!\s*(?:\*|\/\*\*|\/\/)).*\bimport\(/m;

/**
 * Loads pieces by what is kept of them, in a folder for each Node and each set of V8's flags: V8 rejects code that was compiled under
 * others.
 */
function piecesIn(parent: string): Load {
  const folder = path.join(parent, `${process.version}-${process.arch}-${v8.cachedDataVersionTag()}`);
  const program = path.dirname(fileURLToPath(import.meta.url));
  const pieces = new Map<string, Piece>();
  const works = isLimited();
  const keepsAll = works && existsSync(path.join(folder, unsettled));
  // It takes memory, which other processes save.
  if (keepsAll) setWorkFlag('keepCode');
  process.once('exit', () => {
    try {
      underCodeFlags(() => (keepsAll ? keepAll(folder, pieces) : keepMissing(folder, pieces, works)));
    } catch {
      // A disk that is full, say: the next command compiles again.
    }
  });
  return (self, file) => {
    if (path.dirname(file) !== program) return void extensions['.js'](self, file);
    const kept = path.join(folder, keyOf(file));
    const cachedData = readKept(kept);
    const bytes = readFileSync(file);
    // scripts/setup/bundle.mjs writes nothing but ASCII; a hand may have written since.
    const code = Buffer.concat([opening, bytes, closing]).toString(isAscii(bytes) ? 'latin1' : 'utf8');
    if (cachedData === undefined && importsLater.test(code)) return void extensions['.js'](self, file);
    const script = new vm.Script(code, { filename: file, ...(cachedData && { cachedData }) });
    const isTaken = cachedData !== undefined && script.cachedDataRejected !== true;
    if (!isTaken) setWorkFlag('keepCode');
    pieces.set(kept, { script, keptBytes: isTaken ? cachedData.length : 0 });
    const run = script.runInThisContext() as Wrapped;
    run.call(self.exports, self.exports, createRequire(file), self, file, path.dirname(file));
  };
}

/** Around the code of a module. Joined as bytes: as texts V8 would copy all of them once more. */
const [opening = Buffer.of(), closing = Buffer.of()] = module
  .wrap('\0')
  .split('\0')
  .map((part) => Buffer.from(part));

/** The name of a piece has a hash of its content; size and time show a later edit. */
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

/** The file that asks the next process that works to keep all again. */
const unsettled = 'unsettled';

/** By how much code has to have grown to be kept again: the rest of a command is compiled in some milliseconds. */
const enoughGrowth = 1.05;

type Pieces = ReadonlyMap<string, Piece>;

/**
 * Keeps the pieces of which nothing is kept, with the functions that were called: those are compiled by now. A process that works
 * calls the most, by its job: it tells whether the largest piece has grown.
 */
function keepMissing(folder: string, pieces: Pieces, works: boolean): void {
  const missing = [...pieces].filter(
    // Another process may have kept it since.
    ([file, { keptBytes }]) => keptBytes === 0 && (works || readKept(file) === undefined),
  );
  store(folder, missing);
  if (works && hasGrown([...pieces.values()])) write(folder, path.join(folder, unsettled), Buffer.of());
}

function keepAll(folder: string, pieces: Pieces): void {
  rmSync(path.join(folder, unsettled), { force: true });
  store(folder, [...pieces]);
}

function hasGrown(pieces: readonly Piece[]): boolean {
  const [largest] = pieces.toSorted((left, right) => right.keptBytes - left.keptBytes);
  if (largest === undefined || largest.keptBytes === 0) return false;
  return largest.script.createCachedData().length > enoughGrowth * largest.keptBytes;
}

function store(folder: string, pieces: ReadonlyArray<readonly [file: string, piece: Piece]>): void {
  for (const [file, { script }] of pieces) {
    const data = script.createCachedData();
    write(folder, file, Buffer.concat([digestOf(data), data]));
  }
  if (pieces.length > 0) removeOld(path.dirname(folder));
}

function write(folder: string, file: string, bytes: Buffer): void {
  const written = path.join(folder, randomUUID());
  try {
    if (!isOwnFolderOrMade(folder)) return;
    writeFileSync(written, bytes, { mode: 0o600 });
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
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
