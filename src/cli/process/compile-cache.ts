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
  /** Whether V8 rejected what was kept of it. */
  readonly isRejected: boolean;
}

/** Outside a comment. On Node 20 `import()` fails in code from a cache. */
const importsLater = /^(?!\s*(?:\*|\/\*\*|\/\/)).*\bimport\(/m;

/** A process with limits of memory works. After so long it has called most of what such a command calls. */
const workingMs = 500;

/**
 * Loads pieces by what is kept of them, in a folder for each Node and each set of V8's flags: V8 rejects code that was compiled under
 * others.
 */
function piecesIn(parent: string): Load {
  const folder = path.join(parent, `${process.version}-${process.arch}-${v8.cachedDataVersionTag()}`);
  const program = path.dirname(fileURLToPath(import.meta.url));
  const works = isLimited();
  const compiled = new Map<string, Piece>();
  /** Kept by a process that did not work: they lack what work calls. */
  const young = new Map<string, Piece>();
  // With the functions that were called: those are compiled by now.
  process.once('exit', () => {
    const hasWorked = works && performance.now() >= workingMs;
    const kept = hasWorked ? new Map([...compiled, ...young]) : compiled;
    if (kept.size > 0) underCodeFlags(() => store(folder, kept, hasWorked));
  });
  return (self, file) => {
    if (path.dirname(file) !== program) return void extensions['.js'](self, file);
    const kept = path.join(folder, keyOf(file));
    const known = readKept(kept);
    const bytes = readFileSync(file);
    // scripts/setup/bundle.mjs writes nothing but ASCII; a hand may have written since.
    const code = Buffer.concat([opening, bytes, closing]).toString(isAscii(bytes) ? 'latin1' : 'utf8');
    if (known === undefined && importsLater.test(code)) return void extensions['.js'](self, file);
    const script = new vm.Script(code, { filename: file, ...(known && { cachedData: known.data }) });
    const isRejected = script.cachedDataRejected === true;
    if (known === undefined || isRejected) compiled.set(kept, { script, isRejected });
    else if (works && !known.isOfWork) young.set(kept, { script, isRejected });
    if (compiled.size + young.size > 0) setWorkFlag('keepCode');
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

// A file has the digest of the rest, a byte, and the compiled code.

const digestBytes = 32;
const dataAt = digestBytes + 1;
/** The byte, where a process wrote it that had worked. */
const ofWork = 1;

/** V8 runs what it is given: a file that a crash left torn counts as none. */
function readKept(file: string): { readonly data: Buffer; readonly isOfWork: boolean } | undefined {
  try {
    const bytes = readFileSync(file);
    const isWhole = digestOf(bytes.subarray(digestBytes)).equals(bytes.subarray(0, digestBytes));
    return isWhole ? { data: bytes.subarray(dataAt), isOfWork: bytes[digestBytes] === ofWork } : undefined;
  } catch {
    return undefined;
  }
}

function digestOf(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

function store(folder: string, pieces: ReadonlyMap<string, Piece>, hasWorked: boolean): void {
  const written = path.join(folder, randomUUID());
  try {
    if (!isOwnFolderOrMade(folder)) return;
    for (const [file, { script, isRejected }] of pieces) {
      // Another process has worked since this one began.
      if (!hasWorked && !isRejected && readKept(file)?.isOfWork === true) continue;
      const data = Buffer.concat([Buffer.of(hasWorked ? ofWork : 0), script.createCachedData()]);
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
