/**
 * Checks Dockerfile and docker-compose.yml against the repository, without a container engine: every file, command,
 * flag and variable in them has to exist.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configFileVariable } from '../../config/config-file.ts';
import { environmentSettings } from '../../config/schema.ts';
import { commandsOffered, flagsOffered } from '../support/built-cli.ts';
import { stagesOf, type Instruction } from '../support/dockerfile.ts';

const packageSchema = z.object({
  bin: z.record(z.string(), z.string()),
  scripts: z.record(z.string(), z.string()),
  engines: z.object({ node: z.string() }),
});
const packageJson = packageSchema.parse(JSON.parse(readFileSync('package.json', 'utf8')));

const serviceSchema = z.strictObject({
  build: z.string().optional(),
  image: z.string(),
  platform: z.literal('linux/amd64').optional(),
  init: z.boolean().optional(),
  restart: z.string(),
  command: z.string(),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  healthcheck: z
    .strictObject({ test: z.array(z.string()), interval: z.string(), timeout: z.string(), retries: z.number() })
    .optional(),
  stop_grace_period: z.string().optional(),
});
const composeSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
});

const composeText = readFileSync('docker-compose.yml', 'utf8');
const { services, volumes } = composeSchema.parse(parse(composeText, { merge: true }));
const ourServices = Object.entries(services).filter(([, service]) => service.image.startsWith('wellsync:'));

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
    expect(named('USER', instructions).at(-1)?.rest).toBe('node');
  });

  test('sets only variables that wellsync or Node reads', () => {
    const set = named('ENV').flatMap(({ rest }) => [...rest.matchAll(/(\w+)=/g)].map(([, name]) => name));
    expect(set.filter((name) => ![...knownVariables, 'NODE_ENV'].includes(name ?? ''))).toEqual([]);
  });

  test('stands on a pinned Node that package.json allows', () => {
    const [, oldest] = /(\d+)/.exec(packageJson.engines.node) ?? [];
    const majors = stages.map((stage) => Number(/^node:(\d+)-\w+-slim$/.exec(stage.image)?.[1]));
    expect(new Set(majors).size).toBe(1);
    expect(majors[0]).toBeGreaterThanOrEqual(Number(oldest));
  });
});

describe('docker-compose.yml', () => {
  test('pins the version of every image', () => {
    const loose = Object.values(services).filter((service) => !/:\d+\.\d+\.\d+/.test(service.image));
    expect(loose.map((service) => service.image)).toEqual([]);
  });

  test('runs a Redis that keeps what it acknowledged and evicts nothing', () => {
    const command = services['redis']?.command;
    expect(command).toContain('--appendonly yes');
    expect(command).toContain('--maxmemory-policy noeviction');
    expect(services['redis']?.volumes).toContainEqual(expect.stringMatching(/^[\w-]+:\/data$/));
  });

  test.each(ourServices)('%s is started by a command and flags that wellsync has', async (_, { command }) => {
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
    const secrets = ourServices.flatMap(([, { environment }]) =>
      Object.entries(environment).filter(([name]) => /TOKEN|PASSWORD|SECRET/.test(name)),
    );
    expect(secrets.filter(([name, value]) => value !== `\${${name}:-}`)).toEqual([]);
    expect(composeText).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@/);
  });

  test('waits only for services that can say that they are healthy', () => {
    const awaited = Object.values(services).flatMap((service) => Object.entries(service.depends_on));
    expect(awaited).not.toEqual([]);
    for (const [name, { condition }] of awaited) {
      expect(condition).toBe('service_healthy');
      expect(services[name]?.healthcheck, name).toBeDefined();
    }
  });

  test('builds from folders and mounts volumes that exist', () => {
    const folders = Object.values(services).flatMap(({ build }) =>
      build === undefined ? [] : [`${build}/Dockerfile`],
    );
    expect(folders.filter((file) => !existsSync(file))).toEqual([]);
    const mounted = Object.values(services).flatMap((service) =>
      service.volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    expect(mounted.toSorted()).toEqual(Object.keys(volumes).toSorted());
  });
});
