/** The package as a stranger has it: packed, installed in an empty folder as a plain user, without a Redis, and shown. */
import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** nobody, of Debian and others. */
const plainUser = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const packedSchema = z.array(z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) }));

async function commandAt(name: string): Promise<string> {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    const file = path.join(folder, name);
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  throw new Error(`${name} is not on the PATH`);
}

test('npm pack gives a package that runs every job by one command, for a plain user with Node alone', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-package-'));
  try {
    await chmod(folder, 0o777);
    const packed = await run('npm', ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder], {
      maxBuffer: 50_000_000,
    });
    const [{ filename, files } = { filename: '', files: [] }] = packedSchema.parse(
      JSON.parse(packed.stdout.slice(packed.stdout.indexOf('['))),
    );
    const names = files.map(({ path: name }) => name);
    expect(names).toContain('npm-shrinkwrap.json');
    expect(names.filter((name) => /^dist\/(?:test|bench|scripts)\/|\.test\.|\.map$/.test(name))).toEqual([]);
    expect(await readdir('.')).not.toContain('npm-shrinkwrap.json');

    // Nothing else is on the PATH: no redis-server, whatever this machine has.
    const [bin, home] = [path.join(folder, 'bin'), path.join(folder, 'home')];
    await mkdir(bin);
    await mkdir(home, { mode: 0o777 });
    await chmod(home, 0o777);
    for (const name of ['node', 'npm', 'npx', 'sh']) await symlink(await commandAt(name), path.join(bin, name));
    const settings = Object.entries(process.env).filter(([name]) =>
      /^(?:npm_config_registry|https?_proxy)$/i.test(name),
    );
    const env = { ...Object.fromEntries(settings), PATH: bin, HOME: home };
    const how = { cwd: home, env, maxBuffer: 50_000_000, ...plainUser };
    await run('npm', ['install', '--no-audit', '--no-fund', path.join(folder, filename)], how);
    const manifest = z
      .object({ devDependencies: z.record(z.string(), z.string()), dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile('package.json', 'utf8')));
    const installed = await readdir(path.join(home, 'node_modules'));
    const development = ['vitest', 'typescript', 'axe-core'];
    expect(development.filter((name) => manifest.devDependencies[name] === undefined)).toEqual([]);
    expect(development.filter((name) => installed.includes(name))).toEqual([]);
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(await readFile(path.join(home, 'node_modules', 'bullmq', 'package.json'), 'utf8')));
    expect(version).toBe(manifest.dependencies['bullmq']);

    const { stdout } = await run('npx', ['wellsync', 'demo', '--json'], how);
    const summary: unknown = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1));
    expect(summary).toMatchObject({ wells: 24, rows: expect.toSatisfy((rows: number) => rows > 10_000) as number });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
