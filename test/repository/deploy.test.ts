/** Checks the units and manifests of deploy/ by their formats, and every command, flag, port and file in them by the program. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse as parseIni } from 'ini';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../config/load.ts';
import { expectCommand } from '../support/cli-help.ts';
import { manifestFaults } from '../support/kubernetes.ts';

const run = promisify(execFile);
const installed = '/usr/local/bin/wellsync';

/** In MB: `640M` and `640Mi`. */
function megabytes(text: string): number {
  return Number(/^(\d+)Mi?$/.exec(text)?.[1]);
}

const workerMemoryMb = loadConfig({ environment: { WELLSYNC_SERVICE_URL: 'https://pds.example.com' } }).worker.memoryMb;

describe('deploy/systemd', () => {
  const units = readdirSync('deploy/systemd');
  const services = units.filter((name) => name.endsWith('.service'));
  const serviceSchema = z.object({
    Service: z.looseObject({
      User: z.literal('wellsync'),
      ExecStart: z.string(),
      Environment: z.string(),
      MemoryMax: z.string().optional(),
    }),
  });
  const unitOf = (name: string) =>
    serviceSchema.parse(parseIni(readFileSync(`deploy/systemd/${name}`, 'utf8'))).Service;

  const hasAnalyzer = (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(`${folder}/systemd-analyze`));
  const lack = hasAnalyzer ? '' : ' (skipped: there is no systemd-analyze on the PATH)';

  describe.skipIf(!hasAnalyzer)(`for systemd itself${lack}`, () => {
    let folder = '';
    beforeAll(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'wellsync-units-'));
    });
    afterAll(async () => rm(folder, { recursive: true }));

    test('its units have no fault', async () => {
      // It asks that the program be installed.
      const program = path.join(folder, 'wellsync');
      await copyFile('/bin/sh', program);
      for (const name of units) {
        const text = await readFile(`deploy/systemd/${name}`, 'utf8');
        await writeFile(path.join(folder, name), text.replaceAll(installed, program));
      }
      const files = units.map((name) => path.join(folder, name));
      expect(await run('systemd-analyze', ['verify', ...files])).toEqual({ stdout: '', stderr: '' });
    });
  });

  test.each(services)('%s starts a command that wellsync has', async (name) => {
    const { ExecStart: line, Environment: environment } = unitOf(name);
    const [program, ...words] = line.split(' ');
    expect(program).toBe(installed);
    await expectCommand(words);
    expect(environment).toBe('WELLSYNC_CONFIG=/etc/wellsync/wellsync.yaml');
  });

  test.each(['worker', 'serve'])(
    '%s starts again after everything but wrong settings, and has time to stop',
    (name) => {
      const { graceMs } = loadConfig({ environment: {} }).worker;
      const unit = unitOf(`wellsync-${name}.service`);
      expect(unit).toMatchObject({ Restart: 'always', RestartPreventExitStatus: '2' });
      expect(Number(unit['TimeoutStopSec'])).toBeGreaterThan(graceMs / 1000 + 5);
    },
  );

  test.each(services)('%s may do no more than the others, and what the kernel can keep from it, it keeps', (name) => {
    expect(unitOf(name)).toMatchObject({
      UMask: '0027',
      CapabilityBoundingSet: '',
      LockPersonality: 'yes',
      NoNewPrivileges: 'yes',
      PrivateDevices: 'yes',
      PrivateTmp: 'yes',
      ProtectClock: 'yes',
      ProtectControlGroups: 'yes',
      ProtectHome: 'yes',
      ProtectHostname: 'yes',
      ProtectKernelLogs: 'yes',
      ProtectKernelModules: 'yes',
      ProtectKernelTunables: 'yes',
      ProtectSystem: 'strict',
      RestrictAddressFamilies: 'AF_UNIX AF_INET AF_INET6',
      RestrictNamespaces: 'yes',
      RestrictRealtime: 'yes',
      RestrictSUIDSGID: 'yes',
      SystemCallArchitectures: 'native',
      SystemCallErrorNumber: 'EPERM',
      SystemCallFilter: '@system-service',
    });
  });

  test('G8: a unit that works rows has room for worker.memoryMb', () => {
    const limits = services.flatMap((name) => unitOf(name).MemoryMax ?? []);
    expect(limits).toHaveLength(3);
    for (const limit of limits) expect(megabytes(limit)).toBeGreaterThan(workerMemoryMb);
  });

  test.each(units.filter((name) => name.endsWith('.timer')))('%s has the service that it starts', (name) => {
    expect(services).toContain(name.replace('.timer', '.service'));
  });
});

describe('deploy/kubernetes', () => {
  const folder = 'deploy/kubernetes';
  const kustomizationSchema = z.object({
    resources: z.array(z.string()),
    configMapGenerator: z.tuple([z.object({ name: z.string(), files: z.array(z.string()) })]),
  });
  const text = (name: string): string => readFileSync(`${folder}/${name}`, 'utf8');
  const kustomization = kustomizationSchema.parse(parse(text('kustomization.yaml')));
  const [settings] = kustomization.configMapGenerator;

  const containerSchema = z.looseObject({
    args: z.array(z.string()),
    ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
    resources: z.object({ limits: z.object({ memory: z.string() }) }),
    securityContext: z.object({
      allowPrivilegeEscalation: z.literal(false),
      readOnlyRootFilesystem: z.literal(true),
      capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
    }),
    volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
  });
  const podSchema = z.looseObject({
    automountServiceAccountToken: z.literal(false),
    securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.number().positive() }),
    containers: z.tuple([containerSchema]),
    volumes: z.array(z.looseObject({ name: z.string() })),
  });
  const templateSchema = z.object({ spec: podSchema });
  const manifestSchema = z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.object({ name: z.string() }),
    spec: z.unknown().optional(),
  });
  const manifests = kustomization.resources.flatMap((file) =>
    parseAllDocuments(text(file)).map((document) => manifestSchema.parse(document.toJS())),
  );
  const policySchema = z.object({
    policyTypes: z.array(z.string()),
    egress: z.array(z.object({ to: z.array(z.unknown()).optional(), ports: z.array(z.object({ port: z.number() })) })),
  });
  const pods = manifests.flatMap(({ kind, metadata: { name }, spec }) => {
    if (kind === 'Deployment') return [{ name, pod: z.object({ template: templateSchema }).parse(spec).template.spec }];
    if (kind !== 'CronJob') return [];
    const job = z.object({ jobTemplate: z.object({ spec: z.object({ template: templateSchema }) }) }).parse(spec);
    return [{ name, pod: job.jobTemplate.spec.template.spec }];
  });

  test('a misspelt field and a value of another type are faults', () => {
    const meant = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 'two', progresDeadlineSeconds: 60 } };
    const faults = manifestFaults(meant);
    expect(faults).toContain('/spec/replicas: type');
    expect(faults).toContain('/spec/progresDeadlineSeconds is not known');
  });

  test.each(manifests)('$kind $metadata.name is as the API server takes it', (manifest) => {
    expect(manifestFaults(manifest)).toEqual([]);
  });

  test.each(pods)('$name runs a command of wellsync, with volumes for all that it writes', async ({ pod }) => {
    const [container] = pod.containers;
    await expectCommand(container.args);
    const names = pod.volumes.map(({ name }) => name);
    expect(container.volumeMounts.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([]);
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(
      expect.arrayContaining(['/data', '/tmp', '/etc/wellsync/settings', '/etc/wellsync/secrets']),
    );
  });

  describe('its settings', () => {
    let mounted = '';
    beforeAll(async () => {
      mounted = await mkdtemp(path.join(tmpdir(), 'wellsync-mounted-'));
      await mkdir(path.join(mounted, 'secrets'));
      for (const name of ['service-token', 'redis-password', 'warehouse-password']) {
        await writeFile(path.join(mounted, 'secrets', name), 'secret');
      }
      await writeFile(path.join(mounted, 'wellsync.yaml'), text('wellsync.yaml').replaceAll('/etc/wellsync', mounted));
    });
    afterAll(async () => rm(mounted, { recursive: true }));
    const configOfPods = () => loadConfig({ environment: {}, file: path.join(mounted, 'wellsync.yaml') });

    test('G8: leave the worker room for worker.memoryMb, time to stop, and probes on its own port', () => {
      const pod = pods.find(({ name }) => name === 'wellsync-worker')?.pod;
      const [container] = pod?.containers ?? [];
      const { worker } = configOfPods();
      expect(megabytes(container?.resources.limits.memory ?? '')).toBeGreaterThan(worker.memoryMb);
      expect(Number(pod?.['terminationGracePeriodSeconds'])).toBeGreaterThan(worker.graceMs / 1000 + 5);
      const [port] = container?.ports ?? [];
      expect(container?.args.join(' ')).toContain(`--port ${port?.containerPort}`);
      const probes = [container?.['startupProbe'], container?.['livenessProbe'], container?.['readinessProbe']];
      const probed = z.array(z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) })).parse(probes);
      expect(probed.map(({ httpGet }) => httpGet.path)).toEqual(['/healthz', '/healthz', '/readyz']);
      expect(new Set(probed.map(({ httpGet }) => httpGet.port))).toEqual(new Set([port?.name]));
    });

    test('name addresses whose ports the network policy opens, and no others but that of names', () => {
      const policy = manifests.find(({ kind }) => kind === 'NetworkPolicy');
      const { policyTypes, egress } = policySchema.parse(policy?.spec);
      expect(policyTypes).toEqual(['Ingress', 'Egress']);
      const { service, redis, warehouse, files } = configOfPods();
      const usual: Readonly<Record<string, number>> = { 'https:': 443, 's3:': 443, 'postgres:': 5432, 'rediss:': 6379 };
      const reached = [
        service.url,
        redis !== undefined && 'url' in redis ? redis.url : '',
        warehouse.url,
        files.url,
      ].map((address) => {
        const { port, protocol } = new URL(address ?? '');
        return port === '' ? usual[protocol] : Number(port);
      });
      const opened = egress.filter(({ to }) => to !== undefined).flatMap(({ ports }) => ports.map(({ port }) => port));
      expect(new Set(opened)).toEqual(new Set(reached));
      expect(
        new Set(egress.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports.map(({ port }) => port))),
      ).toEqual(new Set([53]));
    });

    test('are those of wellsync, with secrets and lists at paths that are mounted', () => {
      expect(settings.files.filter((name) => !existsSync(`${folder}/${name}`))).toEqual([]);
      const { service, redis, warehouse, export: exports } = configOfPods();
      const secrets = [service.tokenFile, warehouse.passwordFile];
      expect(secrets.map((file) => path.dirname(file ?? ''))).toEqual(Array(2).fill(path.join(mounted, 'secrets')));
      // Read when the configuration is.
      expect(new URL(redis !== undefined && 'url' in redis ? redis.url : '').password).toBe('secret');
      expect(settings.files).toContain(path.basename(exports.wellsFile ?? ''));
    });
  });
});
