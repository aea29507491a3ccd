/**
 * Checks Dockerfile and docker-compose.yml against their formats and the repository, without a container engine: every
 * file, command, flag and variable in them has to exist.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { Ajv } from 'ajv';
import { validate } from 'dockerfile-utils';
import { satisfies } from 'semver';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configFileVariable } from '../../config/config-file.ts';
import { loadConfig } from '../../config/load.ts';
import { environmentSettings } from '../../config/schema.ts';
import { platforms } from '../../scripts/lock-platforms.mjs';
import { readLock } from '../../scripts/lock-rule.mjs';
import { commandsOffered, flagsOffered } from '../support/cli-help.ts';
import { type Instruction, stagesOf } from '../support/dockerfile.ts';

const require = createRequire(import.meta.url);

const packageSchema = z.object({
  bin: z.record(z.string(), z.string()),
  scripts: z.record(z.string(), z.string()),
  engines: z.object({ node: z.string() }),
  devDependencies: z.record(z.string(), z.string()),
});
const packageJson = packageSchema.parse(JSON.parse(readFileSync('package.json', 'utf8')));

/** Of the Compose Specification, as its linter brings it. */
const composeFormat = z.record(z.string(), z.unknown());
const schemaFile = path.join(path.dirname(require.resolve('dclint/package.json')), 'schemas/compose.schema.json');
const { $schema: _dialect, ...composeJsonSchema } = composeFormat.parse(JSON.parse(readFileSync(schemaFile, 'utf8')));
const isCompose = new Ajv({ strict: false, validateFormats: false }).compile(composeJsonSchema);

const serviceSchema = z.looseObject({
  build: z.string().optional(),
  image: z.string(),
  user: z.string().optional(),
  profiles: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).optional(),
  command: z.string(),
  ports: z.array(z.string()).default([]),
  restart: z.string(),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z
    .record(z.string(), z.strictObject({ condition: z.string(), required: z.boolean().default(true) }))
    .default({}),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.array(z.string()),
});
const composeSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
});

const composeText = readFileSync('docker-compose.yml', 'utf8');
const compose: unknown = parse(composeText, { merge: true });
const { services, volumes } = composeSchema.parse(compose);
const ourServices = Object.entries(services).filter(([, service]) => service.image.startsWith('wellsync:'));
/** Those that run wellsync itself. */
const commandServices = ourServices.filter(([, { entrypoint }]) => entrypoint === undefined);

const stages = stagesOf(readFileSync('Dockerfile', 'utf8'));
const image = stages.at(-1);
const everyInstruction = stages.flatMap((stage) => stage.instructions);

const knownVariables = [...Object.keys(environmentSettings), configFileVariable];

function named(name: string, instructions: readonly Instruction[] = everyInstruction): readonly Instruction[] {
  return instructions.filter((instruction) => instruction.name === name);
}

/** Sources of the COPY instructions that take from the repository, or from a stage. */
function copiedFrom(stage: string | undefined): readonly string[] {
  return named('COPY')
    .filter(({ flags }) => flags.find((flag) => flag.startsWith('--from='))?.slice('--from='.length) === stage)
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1));
}

describe('Dockerfile', () => {
  test('has no fault for a linter', () => {
    expect(validate(readFileSync('Dockerfile', 'utf8'))).toEqual([]);
  });

  test('copies only what is in the repository', () => {
    expect(copiedFrom(undefined).filter((source) => !existsSync(source))).toEqual([]);
  });

  test('copies only what .dockerignore lets through', () => {
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
    expect(ignored).toContain('*');
    expect(copiedFrom(undefined).filter((source) => !ignored.includes(`!${source.replace('./', '')}`))).toEqual([]);
  });

  test('takes from its build stage only what that has', () => {
    const has = [...copiedFrom(undefined), 'node_modules', 'dist'].map((source) => `/app/${source}`);
    expect(copiedFrom('build').filter((source) => !has.includes(source))).toEqual([]);
  });

  test('runs only npm scripts that exist', () => {
    const scripts = named('RUN').flatMap(({ rest }) =>
      [...rest.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name),
    );
    expect(scripts).not.toEqual([]);
    expect(scripts.filter((name) => packageJson.scripts[name ?? ''] === undefined)).toEqual([]);
  });

  test('starts the program that package.json names, as somebody who is not root', async () => {
    const instructions = image?.instructions ?? [];
    const [entrypoint] = named('ENTRYPOINT', instructions);
    const [command] = named('CMD', instructions);
    const [name = ''] = z.array(z.string()).parse(JSON.parse(entrypoint?.rest ?? ''));
    const link = `ln -s /app/${packageJson.bin[name]} /usr/local/bin/${name}`;
    expect(named('RUN', instructions).map(({ rest }) => rest)).toContainEqual(expect.stringContaining(link));
    expect(await commandsOffered()).toContain(z.array(z.string()).parse(JSON.parse(command?.rest ?? ''))[0]);
    // Kubernetes sees by a number alone that it is not root.
    expect(Number(named('USER', instructions).at(-1)?.rest)).toBeGreaterThan(0);
  });

  test('sets only variables that wellsync or Node reads', () => {
    const set = named('ENV').flatMap(({ rest }) => [...rest.matchAll(/(\w+)=/g)].map(([, name]) => name));
    expect(set.filter((name) => ![...knownVariables, 'NODE_ENV'].includes(name ?? ''))).toEqual([]);
  });

  test('stands on a pinned Node that package.json allows', () => {
    const releases = stages.map((stage) => /^node:(\d+\.\d+\.\d+)-\w+-slim$/.exec(stage.image)?.[1] ?? '');
    expect(new Set(releases).size).toBe(1);
    expect(satisfies(releases[0] ?? '', packageJson.engines.node)).toBe(true);
  });

  test('is built for the platform of its builder: nothing in it, or in docker-compose.yml, names one', () => {
    const text = `${everyInstruction.map(({ flags, rest }) => `${flags.join(' ')} ${rest}`).join('\n')}\n${JSON.stringify(services)}`;
    expect(text).not.toMatch(/--platform|"platform"|amd64|x86|x64|arm64|aarch64/);
    const held = platforms.filter(({ os, libc }) => os === 'linux' && libc === 'glibc').map(({ cpu }) => cpu);
    expect(held).toEqual(['x64', 'arm64']);
  });

  test('leaves out every development package, also those that npm keeps as wishes of others', () => {
    const { packages } = readLock('package-lock.json');
    const kept = Object.keys(packageJson.devDependencies).filter(
      (name) => packages[`node_modules/${name}`]?.devOptional === true,
    );
    const removed = named('RUN').flatMap(({ rest }) =>
      [...rest.matchAll(/node_modules\/([\w@/-]+)/g)].map(([, name]) => name),
    );
    expect(kept).toEqual(['typescript']);
    expect(removed).toEqual(['typescript', '@typescript']);
    expect(named('RUN').some(({ rest }) => rest.includes('npm prune --omit=dev'))).toBe(true);
  });
});

describe('docker-compose.yml', () => {
  test('follows the Compose Specification', () => {
    isCompose(compose);
    expect(isCompose.errors ?? []).toEqual([]);
    isCompose({ services: { worker: { image: 'wellsync', helthcheck: {} } } });
    expect(isCompose.errors).toHaveLength(1);
  });

  test('pins the version of every image', () => {
    const loose = Object.values(services).filter((service) => !/:\d+(\.\d+)+/.test(service.image));
    expect(loose.map((service) => service.image)).toEqual([]);
  });

  test('runs a Redis that keeps what it acknowledged and evicts nothing', () => {
    const command = services['redis']?.command;
    expect(command).toContain('--appendonly yes');
    expect(command).toContain('--maxmemory-policy noeviction');
    expect(services['redis']?.volumes).toContainEqual(expect.stringMatching(/^[\w-]+:\/data$/));
  });

  test.each(commandServices)('%s is started by a command and flags that wellsync has', async (_, { command }) => {
    const [name = '', ...words] = command.split(' ');
    expect(await commandsOffered()).toContain(name);
    const offered = await flagsOffered(name);
    expect(words.filter((word) => word.startsWith('--') && !offered.includes(word))).toEqual([]);
  });

  test('sets only variables that wellsync reads', () => {
    const set = ourServices.flatMap(([, { environment }]) => Object.keys(environment));
    const taken = [...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name ?? '');
    expect([...set, ...taken].filter((name) => !knownVariables.includes(name))).toEqual([]);
  });

  test('holds no secret', () => {
    const secrets = Object.values(services).flatMap(({ environment }) =>
      Object.entries(environment).filter(([name]) => /TOKEN|PASSWORD|SECRET/.test(name)),
    );
    const given = secrets.filter(([name, value]) => (name.endsWith('_FILE') ? !value.startsWith('/secrets/') : true));
    expect(given.filter(([, value]) => !/^\$\{\w+:-\}$/.test(value))).toEqual([]);
    expect(composeText).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
  });

  test('waits only for services that can say that they are healthy', () => {
    const awaited = Object.values(services).flatMap((service) => Object.entries(service.depends_on));
    expect(awaited).not.toEqual([]);
    for (const [name, { condition, required }] of awaited) {
      const ends = services[name]?.restart === 'no';
      expect(condition).toBe(ends ? 'service_completed_successfully' : 'service_healthy');
      if (!ends) expect(services[name]?.healthcheck, name).toBeDefined();
      // One that is not always there must not keep the others from starting.
      expect(required, name).toBe(services[name]?.profiles.length === 0);
    }
  });

  test('runs nothing as root: by its user, or by that of the image', () => {
    const users = Object.values(services).map(({ image: name, user }) => user ?? name);
    expect(users.filter((user) => !['redis', 'postgres'].includes(user) && !user.startsWith('wellsync:'))).toEqual([]);
  });

  test.each(readdirSync('deploy/compose').filter((file) => file.endsWith('.env')))(
    'deploy/compose/%s names a profile, and sets what docker-compose.yml takes',
    (file) => {
      const { COMPOSE_PROFILES: profile = '', ...settings } = parseEnv(readFileSync(`deploy/compose/${file}`, 'utf8'));
      expect(Object.values(services).flatMap(({ profiles }) => profiles)).toContain(profile);
      const taken = [...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name ?? '');
      expect(Object.keys(settings).filter((name) => !taken.includes(name))).toEqual([]);
    },
  );

  test('builds from folders and mounts volumes that exist', () => {
    const folders = Object.values(services).flatMap(({ build }) =>
      build === undefined ? [] : [`${build}/Dockerfile`],
    );
    expect(folders.filter((file) => !existsSync(file))).toEqual([]);
    const mounted = Object.values(services).flatMap((service) =>
      service.volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    const files = mounted.filter((source) => source.startsWith('./'));
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    const kept = mounted.filter((source) => !files.includes(source));
    expect([...new Set(kept)].toSorted()).toEqual(Object.keys(volumes).toSorted());
  });

  test('opens its ports on this machine alone, each once', () => {
    const ports = Object.values(services).flatMap((service) => service.ports);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const outer = ports.map((port) => port.split(':')[1]);
    expect(outer).toEqual([...new Set(outer)]);
  });

  test('shows the console where docs say it is, which leaves the queues to the worker', () => {
    expect(services['console']?.command).toMatch(/^serve --no-work /);
    expect(services['console']?.profiles).toEqual([]);
    expect(services['console']?.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(composeText).toContain('http://127.0.0.1:8080');
  });

  describe('its secrets', () => {
    let folder = '';
    const make = (): void => {
      const [program, script] = services['secrets']?.entrypoint ?? [];
      const [file] = services['secrets']?.volumes.find((volume) => volume.includes(`:${script}:`))?.split(':') ?? [];
      execFileSync(program ?? '', [file ?? '', folder], {
        env: { ...process.env, PATH: `${folder}/bin:${process.env['PATH']}` },
      });
    };
    const textOf = (name: string) => readFileSync(path.join(folder, name), 'utf8');
    beforeAll(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'wellsync-secrets-'));
      mkdirSync(path.join(folder, 'bin'));
      symlinkSync(path.resolve('dist/src/cli/main.js'), path.join(folder, 'bin', 'wellsync'));
      make();
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    test('are made once, for the user of wellsync and the group that Redis is given', () => {
      const names = readdirSync(folder).filter((name) => name !== 'bin');
      expect(names.toSorted()).toEqual(['console-token', 'console.yaml', 'redis-password', 'redis.conf']);
      expect(new Set(names.map((name) => statSync(path.join(folder, name)).mode & 0o777))).toEqual(new Set([0o440]));
      const before = names.map(textOf);
      make();
      expect(names.map(textOf)).toEqual(before);
      expect(services['redis']).toMatchObject({ group_add: [named('USER', image?.instructions).at(-1)?.rest] });
    });

    test('are one password for Redis and its callers, and a token that the console knows by its hash alone', () => {
      expect(textOf('redis.conf')).toBe(`requirepass ${textOf('redis-password')}\n`);
      expect(services['redis']?.command).toContain('/secrets/redis.conf');
      expect(textOf('console.yaml')).not.toContain(textOf('console-token').trim());
      for (const [name, { environment }] of commandServices) {
        if (environment['WELLSYNC_REDIS_URL'] === undefined) continue;
        // Those from outside stay unset: ${NAME:-…}.
        const own = Object.entries(environment).filter(([, value]) => !value.startsWith('${'));
        const settings: Record<string, string> = Object.fromEntries(
          own.map(([key, value]) => [key, value.replace(/^\/secrets/, folder)]),
        );
        const file = settings[configFileVariable];
        const { redis, http } = loadConfig({ environment: settings, ...(file === undefined ? {} : { file }) });
        expect(new URL(redis !== undefined && 'url' in redis ? redis.url : '').password, name).toBe(
          textOf('redis-password'),
        );
        expect(http.tokens.map(({ role }) => role)).toEqual(name === 'console' ? ['operate'] : []);
      }
    });
  });
});
