/** Owns the checks of `wellsync doctor`: one for each part, each with a finding that an operator can act on. */
import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import path from 'node:path';
import { defaultConfigFile } from '../../config/load.ts';
import { configFileVariable, environmentSettings, type Config } from '../../config/schema.ts';
import { UsageError, WellsyncError } from '../core/errors.ts';
import { checkRedis, shownAddress } from '../queue/redis.ts';
import { checkServiceReach } from '../service/reach.ts';
import type { Environment } from './command-line.ts';
import { createInstallation, serviceUrlOf, tlsOf, type Installation } from './installation.ts';
import { checkSecretFiles } from './secret-files.ts';
import { bytesText, counted, listed } from './words.ts';

export interface Finding {
  readonly part: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  readonly hint: string | null;
}

const oldestNode = [20, 19] as const;
const leastFreeBytes = 1e9;
/** A file that others hold is waited for only shortly: the doctor should tell, not wait. */
const lockWaitMs = 3_000;

/** Variables that wellsync reads beside those of the settings. */
const otherVariables = [configFileVariable, 'WELLSYNC_DEBUG', 'WELLSYNC_TESTING_TOKEN'];
const knownVariables = [...Object.keys(environmentSettings), ...otherVariables];

function ok(part: string, message: string): Finding {
  return { part, status: 'ok', message, hint: null };
}

function warning(part: string, message: string, hint: string): Finding {
  return { part, status: 'warning', message, hint };
}

/** The finding that an error amounts to. Rethrows one that nobody foresaw. */
export function failedFinding(part: string, error: unknown): Finding {
  if (!(error instanceof WellsyncError)) throw error;
  const issues = error instanceof UsageError ? error.issues : [];
  return { part, status: 'failed', message: [error.message, ...issues].join('\n'), hint: error.hint ?? null };
}

async function checked(part: string, check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check();
  } catch (error) {
    return failedFinding(part, error);
  }
}

/** What can be said without a configuration. Names of variables only: values may be secret (G10). */
export function checksBeforeConfig(environment: Environment, configFlag: string | undefined): readonly Finding[] {
  return [nodeVersion(), configFile(environment, configFlag), ...variables(environment)];
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isEnough = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  if (isEnough) return ok('node', process.version);
  const hint = `Install Node ${oldestNode.join('.')} or later.`;
  return { part: 'node', status: 'failed', message: `${process.version} is too old`, hint };
}

function configFile(environment: Environment, flag: string | undefined): Finding {
  const file = flag ?? environment[configFileVariable];
  if (file !== undefined) return ok('config file', file);
  return ok('config file', existsSync(defaultConfigFile) ? defaultConfigFile : 'none: defaults apply');
}

function variables(environment: Environment): readonly Finding[] {
  const set = Object.keys(environment).filter((name) => name.startsWith('WELLSYNC_') && environment[name] !== '');
  const known = set.filter((name) => knownVariables.includes(name));
  const unknown = set.filter((name) => !knownVariables.includes(name));
  const found = ok('environment', known.length === 0 ? 'no variable of wellsync is set' : listed(known));
  if (unknown.length === 0) return [found];
  const hint = 'Check the spelling: wellsync --help names the variables.';
  return [found, warning('environment', `without effect: ${listed(unknown)}`, hint)];
}

/** What needs the configuration; one part that fails does not keep the others from being looked at. */
export async function checksOfParts(config: Config): Promise<readonly Finding[]> {
  const redis = await checked('redis', () => checkRedisFacts(config));
  return [
    redis,
    ...(redis.status === 'failed' ? [] : [await checked('workers', () => withInstallation(config, checkWorkers))]),
    await checked('warehouse', () => withInstallation(config, checkWarehouse)),
    await checked('service', () => checkService(config)),
    await checked('access', () => checkAccess(config)),
    await checked('disk', () => checkDisk(config.dataDir)),
  ];
}

async function withInstallation(
  config: Config,
  check: (installation: Installation) => Promise<Finding>,
): Promise<Finding> {
  await using installation = createInstallation(config, { lockWaitMs });
  return await check(installation);
}

async function checkRedisFacts(config: Config): Promise<Finding> {
  const { version, evictionPolicy, usedMemoryBytes } = await checkRedis(config.redis.url);
  const message = `${shownAddress(config.redis.url)}, version ${version}, ${evictionPolicy}, ${bytesText(usedMemoryBytes)} used`;
  if (evictionPolicy !== 'unknown') return ok('redis', message);
  return warning('redis', message, 'Make sure that its maxmemory-policy is noeviction: it cannot be read here.');
}

async function checkWorkers(installation: Installation): Promise<Finding> {
  const queue = await installation.queue('prompt');
  const counts = await queue.workers();
  const message = listed(counts.map((entry) => `${entry.workers} at ${entry.queue}`));
  if (counts.every((entry) => entry.workers > 0)) return ok('workers', message);
  return warning('workers', message, 'Start one with: wellsync worker. Without one, runs need --inline.');
}

async function checkWarehouse({ warehouse }: Installation): Promise<Finding> {
  const { location } = warehouse;
  // Checking would make it.
  if (location.startsWith('duckdb:') && !existsSync(location.slice('duckdb:'.length))) {
    return ok('warehouse', `${location}, not there yet: the first export makes it`);
  }
  const { engine, schemaVersion, dailyProductionRows } = await warehouse.check();
  const rows = counted(dailyProductionRows, 'row');
  return ok('warehouse', `${location}, ${engine}, schema ${schemaVersion}, ${rows} of daily production`);
}

async function checkService(config: Config): Promise<Finding> {
  const url = serviceUrlOf(config);
  await checkServiceReach(url, tlsOf(config));
  return ok('service', `${url} can be reached`);
}

/** Whether the service takes it shows with the first request: no call of the interface is there to try it. */
async function checkAccess(config: Config): Promise<Finding> {
  await checkSecretFiles(config);
  const { tls } = config.service;
  const shown = tls?.certFile === undefined ? [] : [`client certificate ${tls.certFile}`];
  return ok('access', `${listed([...tokenText(config), ...shown])}; the first request tries it`);
}

function tokenText({ service: { token, tokenFile, oauth } }: Config): readonly string[] {
  if (token !== undefined) return ['token set by value'];
  if (tokenFile !== undefined) return [`token from the file ${tokenFile}`];
  if (oauth !== undefined) return [`tokens by client credentials from ${oauth.tokenUrl}`];
  return ['no token'];
}

async function checkDisk(dataDir: string): Promise<Finding> {
  const folder = nearestFolder(path.resolve(dataDir));
  const { bavail, bsize } = await statfs(folder);
  const free = `${bytesText(bavail * bsize)} free at ${path.resolve(dataDir)}`;
  const isWritable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  const hint = 'Set WELLSYNC_DATA_DIR to a folder with room that can be written to.';
  if (!isWritable) return { part: 'disk', status: 'failed', message: `${folder} cannot be written to`, hint };
  return bavail * bsize < leastFreeBytes ? warning('disk', free, hint) : ok('disk', free);
}

/** The folder itself, or the one that it would be made in. */
function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(path.dirname(folder));
}
